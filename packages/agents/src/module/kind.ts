import { resolve } from 'node:path'
import type { Agent } from '@postern/core'
import { ConfigError } from '@postern/core'
import { z } from 'zod'
import type { OpenedAgent, Opening } from '../kind/agent-kind.ts'
import { commonAgentSchema, defineAgentKind } from '../kind/agent-kind.ts'
import { importModule, modulePathPattern } from '../modules/import-module.ts'

const agentModuleSchema = z.looseObject({
  handle: z.custom<Agent['handle']>(value => typeof value === 'function'),
  start: z.custom<NonNullable<Agent['start']>>(value => typeof value === 'function').optional(),
  close: z.custom<() => Promise<void> | void>(value => typeof value === 'function').optional(),
})

/**
 * A module of the operator's, run in this process: it exports `handle(message, context)` and may export `start(outpost)` and `close()`.
 * TypeScript runs as it is, so it must be erasable.
 */
export const moduleKind = defineAgentKind({
  usage: 'a path such as "./agents/desk.ts" (.ts, .mts, .js, .mjs)',
  uses: modulePathPattern,
  runsHere: true,
  schema: commonAgentSchema,
  open: async ({ use }, opening) =>
    readAgentModule(await importModule(use, `agents.${opening.name}.use`, opening.baseDir), use, opening),
})

/** Names of a CommonJS module are not always known before it runs; its default export is the whole of it. */
function unwrapDefault(imported: unknown): unknown {
  const { handle, default: whole } = imported as { readonly handle?: unknown; readonly default?: unknown }
  return handle === undefined && typeof whole === 'object' ? whole : imported
}

function readAgentModule(imported: unknown, use: string, { name, baseDir }: Opening): OpenedAgent {
  const parsed = agentModuleSchema.safeParse(unwrapDefault(imported))
  if (parsed.success) {
    const { handle, start, close } = parsed.data
    return { agent: { handle, ...(start && { start }) }, ...(close && { close }) }
  }
  const [issue] = parsed.error.issues
  const problem = `"${use}" exports no function "${issue?.path.join('.') || 'handle'}"`
  const fix = `Add "export function handle(message, context) { … }" to ${resolve(baseDir, use)}`
  throw new ConfigError(`agents.${name}.use`, problem, fix)
}
