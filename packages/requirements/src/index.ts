import type {
  AgentDirectory,
  OperatorApprovals,
  Platform,
  RequirementClaims,
  RequirementDeps,
  RequirementRecord,
  Resolved,
  ShowRequirement,
  Store,
} from '@postern/core'
import { createShowRequirement } from '@postern/core'
import type { Hono } from 'hono'
import type { PaymentsConfig, RequirementsConfig } from './config.ts'
import type { FindCall } from './decisions/approvals.ts'
import { createOperatorApprovals } from './decisions/approvals.ts'
import { createRequirementClaims } from './decisions/claims.ts'
import type { DecisionDeps, DecisionPlan } from './decisions/decide.ts'
import { decideRequirement } from './decisions/decide.ts'
import type { PaymentProvider } from './payment/provider.ts'
import { openReceiptProvider, openTestProvider } from './payment/provider.ts'
import { createDecisionRoutes, openRequirementStates } from './routes.ts'

export type { PaymentsConfig } from './config.ts'
export { paymentsConfigSchema, requirementsConfigSchema } from './config.ts'
export type { FindCall } from './decisions/approvals.ts'
export { watchOverdue } from './decisions/decide.ts'
export type { PaymentProvider } from './payment/provider.ts'

interface RequirementsOptions {
  readonly config: RequirementsConfig
  readonly payments: PaymentsConfig | undefined
  /** Where relative paths of the configuration start. */
  readonly baseDir: string
  readonly store: DecisionDeps['store'] & Pick<Store, 'secret'>
  readonly decisions: DecisionDeps['decisions']
  readonly platform: Pick<Platform, 'now' | 'randomBytes' | 'log'>
  readonly agents: AgentDirectory
  /** Absent where no call of a tool waits for an operator. */
  readonly findCall?: FindCall | undefined
}

/** Everything that has to do with what agents require: how it is named, shown, decided and paid. */
export interface Requirements {
  readonly states: RequirementDeps
  readonly showRequirement: ShowRequirement
  readonly requirementClaims: RequirementClaims
  readonly routes: Hono
  readonly approvals: OperatorApprovals
  /** @throws Rejection `forbidden` for what an operator does not grant */
  decide(requirement: RequirementRecord, plan: DecisionPlan): Promise<Resolved>
}

/** @throws ConfigError `payments` */
export async function openRequirements(options: RequirementsOptions): Promise<Requirements> {
  const { store, decisions, platform, agents } = options
  const { origin } = agents
  const ttlMs = options.config.expires_after_hours * 3_600_000
  const states = await openRequirementStates({ store, origin, ttlMs })
  const provider = await openProvider(options)
  const deciding = { store, decisions, platform, provider }
  const approvals = createOperatorApprovals(deciding, options.findCall ?? (async () => undefined))
  return {
    states,
    showRequirement: createShowRequirement(states),
    requirementClaims: createRequirementClaims(deciding, states),
    approvals,
    routes: createDecisionRoutes({ ...deciding, agents, approvals, digestOf: states.digestOf }),
    decide: (requirement, plan) => decideRequirement(requirement, plan, deciding),
  }
}

async function openProvider({
  payments,
  baseDir,
  store,
  platform,
  agents,
}: RequirementsOptions): Promise<PaymentProvider | undefined> {
  const { origin } = agents
  if (!payments) return undefined
  if (payments.use === 'builtin:test') return openTestProvider({ store, platform, origin })
  return openReceiptProvider(payments, { origin, baseDir, now: () => platform.now() })
}
