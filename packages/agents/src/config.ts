// Validates one entry of `agents` by the kind of agent that its `use` names.
import { isDeepStrictEqual } from 'node:util'
import { ConfigError } from '@postern/message'
import { z } from 'zod'
import type { AgentKind, CommonAgentConfig } from './kind/agent-kind.ts'
import { findAgentKind, kinds } from './kinds.ts'

type Issue = z.core.$ZodIssue

/** One entry of `agents`: the members that every agent may have, and those of its kind. The parsed output is valid input and stays unchanged. */
export const agentConfigSchema = z.looseObject({ use: z.string() }).transform((config, context): AgentConfig => {
  const checkResult = checkAgentConfig(config)
  if (checkResult.config) return checkResult.config
  for (const issue of checkResult.issues) context.issues.push({ ...issue, input: config } as z.core.$ZodRawIssue)
  return z.NEVER
})

/** The settings of one agent in the configuration file. `use` determines which members exist. */
export type AgentConfigInput = z.input<typeof agentConfigSchema>
/** The validated settings, with all defaults. */
type AgentConfig = CommonAgentConfig & { readonly [member: string]: unknown }

/** The settings that are valid, with their kinds. They need no second validation. */
const validSettings = new WeakMap<object, AgentKind>()

/** Reads one entry of `agents`. @throws ConfigError naming `agents.<name>…` */
export function readAgentConfig(
  name: string,
  config: unknown,
): { readonly config: AgentConfig; readonly kind: AgentKind } {
  const validKind = validSettings.get(config as object)
  if (validKind) return { config: config as AgentConfig, kind: validKind }
  const parseResult = agentConfigSchema.safeParse(config)
  const kind = findAgentKind(readUse(config))
  if (parseResult.success && kind) return { config: parseResult.data, kind }
  const [issue] = parseResult.error?.issues ?? []
  const key = ['agents', name, ...(issue?.path ?? [])].join('.')
  throw new ConfigError(key, issue?.message ?? 'is not valid', describeFix(config, kind))
}

function checkAgentConfig(config: { readonly use: string }): {
  readonly config?: AgentConfig
  readonly issues: readonly Issue[]
} {
  const sharedSettings = recentSettings.find(({ input }) => isDeepStrictEqual(input, config))
  if (sharedSettings) return { config: sharedSettings.output, issues: [] }
  const kind = findAgentKind(config.use)
  if (!kind) return { issues: [describeUnknownKind(config.use)] }
  const parseResult = kind.schema.safeParse(config)
  if (!parseResult.success) return { issues: parseResult.error.issues }
  const output = { ...parseResult.data } as AgentConfig
  validSettings.set(output, kind)
  rememberSettings(config, output)
  return { config: output, issues: [] }
}

/** The number of different settings that are compared with those of the next agent. */
const maxRecentSettings = 4

/** The settings of the last agents, newest last. Thousands of agents with the same settings are validated once, and share one object. */
const recentSettings: { readonly input: object; readonly output: AgentConfig }[] = []

/** Remembers settings until the configuration is validated. Later, their owner may have changed them. */
function rememberSettings(input: object, output: AgentConfig): void {
  if (recentSettings.length === 0) queueMicrotask(() => recentSettings.splice(0))
  if (recentSettings.length === maxRecentSettings) recentSettings.shift()
  recentSettings.push({ input, output })
}

function describeUnknownKind(use: string): Issue {
  return { code: 'custom', path: ['use'], message: `no agent of the kind "${use}"; available: ${listUsages()}` }
}

function describeFix(config: unknown, kind: AgentKind | undefined): string {
  if (!kind) return readUse(config) ? 'Set "use" to one of these' : `Set "use" to one of: ${listUsages()}`
  const members = Object.keys(kind.schema.shape).filter(key => key !== 'use')
  return `Beside "use" it may have: ${members.join(', ')}`
}

function listUsages(): string {
  return kinds.map(({ useNotation }) => useNotation).join(', ')
}

function readUse(config: unknown): string {
  const use = typeof config === 'object' && config !== null && 'use' in config ? config.use : undefined
  return typeof use === 'string' ? use : ''
}
