// Reads the tools that a module exports, checks arguments, and formats results for a model.
import type { NormalizedMessage } from '@postern/message'
import { ConfigError, parseJsonText } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'
import type { SwarmData } from '@postern/swarm'
import { z } from 'zod'
import type { ToolRule } from '../config/tool-policies.ts'
import { importModule } from '../modules/import-module.ts'
import type { AnswerFile, FileDescription } from './tool-files.ts'

/** The turn in which a tool is called. */
export interface ToolTurnContext extends AgentContext {
  readonly message: NormalizedMessage
  /** The swarm; absent unless the tool belongs to one of its members. */
  readonly swarm?: ToolSwarm | undefined
}

/** The second argument of a tool: everything that an agent has, and the message that it answers. */
export interface ToolContext extends ToolTurnContext {
  /** Adds a file to the answer, after the call. The model reads only what the tool returns. */
  attach(bytes: Uint8Array, details?: FileDescription): void
}

/** The data that a swarm stores apart from its conversations, and its models. */
export interface ToolSwarm extends SwarmData {
  /**
   * Asks the model of the speaking member with only this text. The model sees nothing of the conversation, and the conversation nothing of the
   * request.
   */
  runStateless(text: string): Promise<string>
}

/** A tool in the form in which a module exports it, under the name by which the model calls it. */
export interface ToolDefinition {
  readonly description: string
  /** The JSON Schema of `args`, which is an object. */
  readonly parameters?: { readonly [keyword: string]: unknown } | undefined
  /**
   * Runs the tool and returns JSON or text. The files of `{ parts }` become part of the answer, and the model reads their name, type and size. An
   * error is logged, and the model learns only that the tool failed.
   */
  // biome-ignore lint/suspicious/noExplicitAny: whoever writes the schema knows the type of the arguments
  run(args: any, context: ToolContext): unknown
  /** Says in words what a run with these arguments would do, for the person who must allow it under the policy `preview`. It changes nothing. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  preview?(args: any, context: ToolTurnContext): unknown
}

export interface Tool {
  readonly name: string
  readonly description: string
  readonly parameters: { readonly [keyword: string]: unknown }
  run(args: unknown, context: ToolContext): unknown
  preview?(args: unknown, context: ToolTurnContext): unknown
  readonly findFault: FindArgumentFault
}

/** The rule that a call falls under. */
export interface MatchingRule extends ToolRule {
  /** Identifies the calls that the rule covers; absent if it covers all calls of the tool. */
  readonly calls?: string | undefined
}

/** A tool with the rules on its calls. */
export interface RuledTool extends Tool {
  /** The rules in their order. The first whose condition is met counts. */
  readonly rules: readonly ToolRule[]
  /** Finds the rule for a call; undefined if the call may run at once. */
  findRule(args: unknown): MatchingRule | undefined
}

/** Functions of the operator that a model may call. */
export interface Toolbox<Kind extends Tool = RuledTool> {
  readonly tools: ReadonlyMap<string, Kind>
  close?(): Promise<void> | void
}

const namePattern = /^[a-zA-Z0-9_-]{1,64}$/

const definitionSchema = z.looseObject({
  description: z.string().min(1),
  parameters: z.record(z.string(), z.unknown()).default({ type: 'object', properties: {} }),
  run: z.custom<ToolDefinition['run']>(value => typeof value === 'function', 'must be a function'),
  preview: z.custom<NonNullable<ToolDefinition['preview']>>(value => typeof value === 'function').optional(),
})

const fix =
  'A tool is: export const name = { description: "…", parameters: { /* JSON Schema */ }, run(args, context) { … } }'

/** Reads the module of an agent's tools, which may also export `close()`. @throws ConfigError */
export async function openToolbox(path: string, key: string, baseDir: string): Promise<Toolbox<Tool>> {
  const { close, ...moduleExports } = (await importModule(path, key, baseDir)) as Record<string, unknown>
  const tools = Object.entries(moduleExports).map(([name, value]) => readTool(name, value, key))
  if (tools.length === 0) throw new ConfigError(key, `"${path}" exports no tool`, fix)
  return {
    tools: new Map(tools.map(tool => [tool.name, tool])),
    ...(typeof close === 'function' && { close: close as () => void }),
  }
}

function readTool(name: string, value: unknown, key: string): Tool {
  if (!namePattern.test(name)) throw new ConfigError(key, `"${name}" cannot be the name of a tool`, fix)
  const parseResult = definitionSchema.safeParse(value)
  if (!parseResult.success) {
    const [issue] = parseResult.error.issues
    throw new ConfigError(key, `the tool "${name}": ${issue?.path.join('.') || 'it'} is not valid`, fix)
  }
  const { description, parameters, run, preview } = parseResult.data
  return {
    name,
    description,
    parameters,
    run: (args, context) => run.call(value, args, context),
    ...(preview && { preview: (args: unknown, context: ToolTurnContext) => preview.call(value, args, context) }),
    findFault: createParametersCheck(name, parameters, key),
  }
}

function createParametersCheck(name: string, parameters: Tool['parameters'], key: string): Tool['findFault'] {
  try {
    return createArgumentCheck(parameters)
  } catch (cause) {
    const problem = `the tool "${name}": its parameters are no JSON Schema that can be checked`
    throw new ConfigError(key, problem, 'Use the keywords of JSON Schema 2020-12 without if/then and $ref.', { cause })
  }
}

/** Describes the error in arguments; undefined if they are valid. */
export type FindArgumentFault = (args: unknown) => string | undefined

/**
 * Creates the check of arguments: they must be an object, whatever the schema says, without a member `__proto__`, because copying it changes
 * the prototype. @throws Error for an invalid JSON Schema
 */
export function createArgumentCheck(parameters: { readonly [keyword: string]: unknown }): FindArgumentFault {
  const objectSchema = { type: 'object', ...parameters } as Parameters<typeof z.fromJSONSchema>[0]
  const schema = z.fromJSONSchema(objectSchema)
  return args => {
    if (hasPrototypeMember(args)) return '__proto__: no argument may have this name'
    const [issue] = schema.safeParse(args).error?.issues ?? []
    return issue && `${issue.path.join('.') || 'arguments'}: ${issue.message}`
  }
}

/** Returns true if a value has a member `__proto__`. It works without recursion, because the depth has no limit. */
function hasPrototypeMember(args: unknown): boolean {
  const queue: unknown[] = [args]
  while (queue.length > 0) {
    const value = queue.pop()
    if (typeof value !== 'object' || value === null) continue
    if (Object.hasOwn(value, '__proto__')) return true
    for (const member of Object.values(value)) queue.push(member)
  }
  return false
}

/** The maximum length of a result for a model, characters. */
const maxResultChars = 100_000

export type ToolOutcome =
  | { readonly result: unknown; readonly flags?: string[]; readonly files?: readonly AnswerFile[] }
  | { readonly error: { readonly message: string } }

/** Returns the end of a call without its files, which are separate parts of the answer. */
export function withoutFiles(outcome: ToolOutcome): Exclude<ToolOutcome, { readonly files: unknown }> {
  if (!('files' in outcome)) return outcome
  const { files: _, ...end } = outcome
  return end
}

/** Returns the files that a call adds to the answer. */
export function filesOf(outcome: ToolOutcome): readonly AnswerFile[] {
  return ('files' in outcome && outcome.files) || []
}

/** Formats the result of a call for the model: text as it is, everything else as JSON. */
export function formatToolResult(outcome: ToolOutcome): string {
  if ('error' in outcome) return JSON.stringify({ error: outcome.error.message })
  return typeof outcome.result === 'string' ? outcome.result : JSON.stringify(outcome.result ?? null)
}

/** Converts the return value of a tool to JSON. @throws Error if it cannot be converted or is too large for a model */
export function toToolResult(value: unknown): unknown {
  const text = JSON.stringify(value ?? null)
  if (text === undefined) throw new Error('The result of a tool is no JSON')
  if (text.length > maxResultChars) throw new Error(`The result of a tool is longer than ${maxResultChars} characters`)
  return parseJsonText(text)
}
