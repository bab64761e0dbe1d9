// Validates one entry of `agents` by the kind of agent that its `use` names.
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

/** Reads one entry of `agents`. @throws ConfigError naming `agents.<name>…` */
export function readAgentConfig(
  name: string,
  config: unknown,
): { readonly config: AgentConfig; readonly kind: AgentKind } {
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
  const kind = findAgentKind(config.use)
  if (!kind) return { issues: [describeUnknownKind(config.use)] }
  const parseResult = kind.schema.safeParse(config)
  return parseResult.success ? { config: { ...parseResult.data }, issues: [] } : { issues: parseResult.error.issues }
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
