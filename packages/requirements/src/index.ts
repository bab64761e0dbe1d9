// Opens the requirements of agents (consent, payment, proof of identity): their pages, decisions and payments.
import type { ShowRequirement, System } from '@postern/message'
import type {
  AgentDirectory,
  OperatorApprovals,
  RequirementClaims,
  RequirementDeps,
  RequirementRecord,
  ResolutionResult,
  Store,
} from '@postern/pipeline'
import { createShowRequirement } from '@postern/pipeline'
import type { Hono } from 'hono'
import type { PaymentsConfig, RequirementsConfig } from './config.ts'
import type { FindCall } from './decisions/approvals.ts'
import { createOperatorApprovals } from './decisions/approvals.ts'
import { createRequirementClaims } from './decisions/claims.ts'
import type { DecisionDeps, DecisionPlan } from './decisions/decide.ts'
import { decideRequirement } from './decisions/decide.ts'
import { openRequirementStates } from './decisions/states.ts'
import type { PaymentProvider } from './payment/provider.ts'
import { openReceiptProvider, openTestProvider } from './payment/provider.ts'
import { createDecisionRoutes } from './routes.ts'

export type { PaymentsConfig } from './config.ts'
export { paymentsConfigSchema, requirementsConfigSchema } from './config.ts'
export type { FindCall } from './decisions/approvals.ts'
export { watchOverdue } from './decisions/decide.ts'

interface RequirementsOptions {
  readonly config: RequirementsConfig
  readonly payments: PaymentsConfig | undefined
  /** The folder against which relative paths of the configuration are resolved. */
  readonly baseDir: string
  readonly store: DecisionDeps['store'] & Pick<Store, 'openSecret'>
  readonly decisions: DecisionDeps['decisions']
  readonly system: Pick<System, 'now' | 'randomBytes' | 'log'>
  readonly agents: AgentDirectory
  /** Finds the complete call of a requirement. Absent if no call of a tool waits for an operator. */
  readonly findCall?: FindCall | undefined
}

/** The requirements of agents: their pages, decisions and payments. */
export interface Requirements {
  readonly states: RequirementDeps
  readonly showRequirement: ShowRequirement
  readonly requirementClaims: RequirementClaims
  readonly routes: Hono
  readonly approvals: OperatorApprovals
  /**
   * Decides a requirement for an operator.
   * @throws Rejection `forbidden` if an operator may not grant the requirement
   */
  decide(requirement: RequirementRecord, plan: DecisionPlan): Promise<ResolutionResult>
}

/**
 * Opens the requirements.
 * @throws ConfigError `payments`
 */
export async function openRequirements(options: RequirementsOptions): Promise<Requirements> {
  const { store, decisions, system, agents } = options
  const { origin } = agents
  const ttlMs = options.config.expires_after_hours * 3_600_000
  const states = await openRequirementStates({ store, origin, ttlMs })
  const provider = await openProvider(options)
  const decisionDeps = { store, decisions, system, provider }
  const approvals = createOperatorApprovals(decisionDeps, options.findCall ?? (async () => undefined))
  return {
    states,
    showRequirement: createShowRequirement(states),
    requirementClaims: createRequirementClaims(decisionDeps, states.findByState),
    approvals,
    routes: createDecisionRoutes({ ...decisionDeps, agents, approvals, findByState: states.findByState }),
    decide: (requirement, plan) => decideRequirement(requirement, plan, decisionDeps),
  }
}

async function openProvider({
  payments,
  baseDir,
  store,
  system,
  agents,
}: RequirementsOptions): Promise<PaymentProvider | undefined> {
  const { origin } = agents
  if (!payments) return undefined
  if (payments.use === 'builtin:test') return openTestProvider({ store, system, origin })
  return openReceiptProvider(payments, { origin, baseDir, now: () => system.now() })
}
