import type { AgentContext, NormalizedMessage } from '@postern/core'
import { ConfigError, parseJsonText } from '@postern/core'
import type { SwarmData } from '@postern/swarm'
import { z } from 'zod'
import type { ToolRules } from '../config/approval.ts'
import { importModule } from '../modules/import-module.ts'

/** What a tool is given beside its arguments: all that an agent has, and the message that is being answered. */
export interface ToolContext extends AgentContext {
  readonly message: NormalizedMessage
  /** Where the tool is one of a swarm's member. */
  readonly swarm?: ToolSwarm | undefined
}

/** What a swarm keeps beside its conversations, and its models. */
export interface ToolSwarm extends SwarmData {
  /** What the model of the member who speaks says to these words alone: it knows nothing of the conversation, nor does that of it. */
  runStateless(words: string): Promise<string>
  /** Puts a file into the answer, such as a picture; an image is told by its bytes, everything else by `mime`. */
  attach(bytes: Uint8Array, about?: { readonly name?: string; readonly mime?: string }): void
}

/** What a module of tools exports, under the name that the model calls it by. */
export interface ToolDefinition {
  readonly description: string
  /** JSON Schema of `args`, an object. */
  readonly parameters?: { readonly [keyword: string]: unknown } | undefined
  /** Returns JSON, or text. What it throws is logged; the model is told only that it failed. */
  // biome-ignore lint/suspicious/noExplicitAny: whoever writes the schema knows the type of the arguments
  run(args: any, context: ToolContext): unknown
  /** Under the policy `preview`: what a run with these arguments would do, in words, for whoever has to allow it. Changes nothing. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  preview?(args: any, context: ToolContext): unknown
}

export interface Tool {
  readonly name: string
  readonly description: string
  readonly parameters: { readonly [keyword: string]: unknown }
  run(args: unknown, context: ToolContext): unknown
  preview?(args: unknown, context: ToolContext): unknown
  readonly findFault: FindArgumentFault
}

/** Without those that are never to run. @throws ConfigError for a rule on a tool that there is not */
export function selectTools(tools: Toolbox['tools'], rules: ToolRules, key: string): Toolbox['tools'] {
  const unknown = Object.keys(rules).find(name => !tools.has(name))
  if (unknown !== undefined) {
    throw new ConfigError(`${key}.${unknown}`, 'there is no such tool', `Name one of: ${[...tools.keys()].join(', ')}`)
  }
  return new Map([...tools].filter(([name]) => rules[name]?.policy !== 'forbidden'))
}

/** Functions of the operator's that a model may call. */
export interface Toolbox {
  readonly tools: ReadonlyMap<string, Tool>
  close?(): Promise<void> | void
}

const namePattern = /^[a-zA-Z0-9_-]{1,64}$/

const definitionSchema = z.looseObject({
  description: z.string().min(1),
  parameters: z.record(z.string(), z.unknown()).default({ type: 'object', properties: {} }),
  run: z.custom<ToolDefinition['run']>(value => typeof value === 'function', 'must be a function'),
  preview: z.custom<NonNullable<ToolDefinition['preview']>>(value => typeof value === 'function').optional(),
})

/** Reads the module of an agent's tools; it may also export `close()`. @throws ConfigError */
export async function openToolbox(path: string, key: string, baseDir: string): Promise<Toolbox> {
  const { close, ...exported } = (await importModule(path, key, baseDir)) as Record<string, unknown>
  const tools = Object.entries(exported).map(([name, value]) => readTool(name, value, key))
  if (tools.length === 0) throw new ConfigError(key, `"${path}" exports no tool`, fix)
  return {
    tools: new Map(tools.map(tool => [tool.name, tool])),
    ...(typeof close === 'function' && { close: close as () => void }),
  }
}

const fix =
  'A tool is: export const name = { description: "…", parameters: { /* JSON Schema */ }, run(args, context) { … } }'

function readTool(name: string, value: unknown, key: string): Tool {
  if (!namePattern.test(name)) throw new ConfigError(key, `"${name}" cannot be the name of a tool`, fix)
  const parsed = definitionSchema.safeParse(value)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new ConfigError(key, `the tool "${name}": ${issue?.path.join('.') || 'it'} is not valid`, fix)
  }
  const { description, parameters, run, preview } = parsed.data
  return {
    name,
    description,
    parameters,
    run: (args, context) => run.call(value, args, context),
    ...(preview && { preview: (args: unknown, context: ToolContext) => preview.call(value, args, context) }),
    findFault: openCheck(name, parameters, key),
  }
}

function openCheck(name: string, parameters: Tool['parameters'], key: string): Tool['findFault'] {
  try {
    return createArgumentCheck(parameters)
  } catch (cause) {
    const problem = `the tool "${name}": its parameters are no JSON Schema that can be checked`
    throw new ConfigError(key, problem, 'Use the keywords of JSON Schema 2020-12 without if/then and $ref.', { cause })
  }
}

/** Describes what is wrong with arguments; undefined when nothing is. */
export type FindArgumentFault = (args: unknown) => string | undefined

/**
 * Arguments are an object, whatever the schema says. No member may have the name `__proto__`, because copying it changes the prototype.
 * @throws Error for an invalid JSON Schema
 */
export function createArgumentCheck(parameters: { readonly [keyword: string]: unknown }): FindArgumentFault {
  const whole = { type: 'object', ...parameters } as Parameters<typeof z.fromJSONSchema>[0]
  const schema = z.fromJSONSchema(whole)
  return args => {
    if (hasPrototype(args)) return '__proto__: no argument may be called so'
    const [issue] = schema.safeParse(args).error?.issues ?? []
    return issue && `${issue.path.join('.') || 'arguments'}: ${issue.message}`
  }
}

/** Without recursion, because the depth has no limit. */
function hasPrototype(args: unknown): boolean {
  const waiting: unknown[] = [args]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value !== 'object' || value === null) continue
    if (Object.hasOwn(value, '__proto__')) return true
    for (const member of Object.values(value)) waiting.push(member)
  }
  return false
}

/** Characters of a result for a model. */
const maxResult = 100_000

export type ToolOutcome = { readonly result: unknown } | { readonly error: { readonly message: string } }

/** The result of a call for the model: text as it is, everything else as JSON. */
export function formatToolResult(outcome: ToolOutcome): string {
  if ('error' in outcome) return JSON.stringify({ error: outcome.error.message })
  return typeof outcome.result === 'string' ? outcome.result : JSON.stringify(outcome.result ?? null)
}

/** What a tool returned, as JSON can hold it. @throws Error when it cannot, or is too large for a model */
export function toToolResult(value: unknown): unknown {
  const text = JSON.stringify(value ?? null)
  if (text === undefined) throw new Error('The result of a tool is no JSON')
  if (text.length > maxResult) throw new Error(`The result of a tool is longer than ${maxResult} characters`)
  return parseJsonText(text)
}
