import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Agent } from '@postern/core'
import { ConfigError } from '@postern/core'
import { z } from 'zod'
import type { OpenedAgent, Opening } from './agent-kind.ts'
import { commonAgentSchema, defineAgentKind } from './agent-kind.ts'

const pathPattern = /^(?:\.{1,2}\/|\/).*\.(?:ts|mts|js|mjs)$/

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
  matches: use => pathPattern.test(use),
  schema: commonAgentSchema,
  open: async ({ use }, opening) => readAgentModule(await importModule(use, opening), use, opening),
})

async function importModule(use: string, { name, baseDir }: Opening): Promise<unknown> {
  const file = resolve(baseDir, use)
  try {
    return await import(pathToFileURL(file).href)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const mend = `Check that ${file} exists and runs by itself: node ${file}`
    throw new ConfigError(`agents.${name}.use`, `"${use}" cannot be loaded: ${reason}`, mend, { cause: error })
  }
}

function readAgentModule(imported: unknown, use: string, { name, baseDir }: Opening): OpenedAgent {
  const parsed = agentModuleSchema.safeParse(imported)
  if (parsed.success) {
    const { handle, start, close } = parsed.data
    return { agent: { handle, ...(start && { start }) }, ...(close && { close }) }
  }
  const [issue] = parsed.error.issues
  const problem = `"${use}" exports no function "${issue?.path.join('.') || 'handle'}"`
  const mend = `Add "export function handle(message, context) { … }" to ${resolve(baseDir, use)}`
  throw new ConfigError(`agents.${name}.use`, problem, mend)
}
