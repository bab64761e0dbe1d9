// Runs a TypeScript or JavaScript module of the operator as an agent.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError } from '@postern/message'
import type { Agent } from '@postern/pipeline'
import { z } from 'zod'
import type { AgentOpenDeps, OpenedAgent } from '../kind/agent-kind.ts'
import { commonAgentSchema, defineAgentKind } from '../kind/agent-kind.ts'
import { importModule, modulePathPattern } from '../modules/import-module.ts'
import { isPreloaded } from '../modules/operator-modules.ts'

const moduleAgentSchema = commonAgentSchema.extend({
  /** Runs each turn in a thread of its own, which the gateway ends when the turn's time is over. */
  isolate: z.boolean().default(false),
  /** The gateway is not ready (`/readyz`) after `start()` of the agent has failed, until it succeeds. */
  required: z.boolean().default(false),
})

const agentModuleSchema = z.looseObject({
  handle: z.custom<Agent['handle']>(value => typeof value === 'function'),
  start: z.custom<NonNullable<Agent['start']>>(value => typeof value === 'function').optional(),
  forget: z.custom<NonNullable<Agent['forget']>>(value => typeof value === 'function').optional(),
  close: z.custom<() => Promise<void> | void>(value => typeof value === 'function').optional(),
})

/**
 * A module of the operator, run in this process. It exports `handle(message, context)` and may export `start(publisher)`, `forget(forgotten,
 * context)` and `close()`. TypeScript runs without a build, so its types must be erasable.
 */
export const moduleKind = defineAgentKind({
  useNotation: 'a path such as "./agents/desk.ts" (.ts, .mts, .js, .mjs)',
  usePattern: modulePathPattern,
  runsHere: true,
  schema: moduleAgentSchema,
  isShareable: ({ isolate }) => !isolate,
  open: async ({ use, isolate }, deps) =>
    // A preloaded module is an object of this thread, so it cannot run in another one.
    isolate && !isPreloaded(pathToFileURL(resolve(deps.baseDir, use)).href)
      ? openIsolatedModule(use, deps)
      : readAgentModule(await importModule(use, `agents.${deps.name}.use`, deps.baseDir), use, deps),
})

/** Opens a module whose turns run in separate threads. @throws ConfigError */
async function openIsolatedModule(use: string, { name, baseDir }: AgentOpenDeps): Promise<OpenedAgent> {
  const file = resolve(baseDir, use)
  const key = `agents.${name}.use`
  if (!existsSync(file))
    throw new ConfigError(key, `"${use}" cannot be loaded: there is no file ${file}`, 'Correct the path.')
  const { openIsolatedAgent } = await import('./isolated/isolated-agent.ts')
  const { agent, exports, close } = await openIsolatedAgent(pathToFileURL(file).href).catch((cause: Error) => {
    const fix = `Check that ${file} runs by itself: node ${file}`
    throw new ConfigError(key, `"${use}" cannot be loaded: ${cause.message}`, fix, { cause })
  })
  if (exports.includes('handle') && !exports.includes('start')) return { agent, close }
  await close()
  const reason = exports.includes('start')
    ? `"${use}" exports "start", and an isolated agent speaks only when it is spoken to`
    : `"${use}" exports no function "handle"`
  const fix = exports.includes('start')
    ? 'Remove "isolate", or "start".'
    : `Add "export function handle(message, context) { … }" to ${file}`
  throw new ConfigError(exports.includes('start') ? `agents.${name}.isolate` : key, reason, fix)
}

/** Returns the default export of a CommonJS module, whose names may be unknown before it runs. */
function unwrapDefault(namespace: unknown): unknown {
  const { handle, default: defaultExport } = namespace as { readonly handle?: unknown; readonly default?: unknown }
  return handle === undefined && typeof defaultExport === 'object' ? defaultExport : namespace
}

function readAgentModule(namespace: unknown, use: string, { name, baseDir }: AgentOpenDeps): OpenedAgent {
  const parseResult = agentModuleSchema.safeParse(unwrapDefault(namespace))
  if (parseResult.success) {
    const { handle, start, forget, close } = parseResult.data
    return { agent: { handle, ...(start && { start }), ...(forget && { forget }) }, ...(close && { close }) }
  }
  const [issue] = parseResult.error.issues
  const reason = `"${use}" exports no function "${issue?.path.join('.') || 'handle'}"`
  const fix = `Add "export function handle(message, context) { … }" to ${resolve(baseDir, use)}`
  throw new ConfigError(`agents.${name}.use`, reason, fix)
}
