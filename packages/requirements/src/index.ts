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
import type { FindCall } from './approvals.ts'
import { createOperatorApprovals } from './approvals.ts'
import { createRequirementClaims } from './claims.ts'
import type { PaymentsConfig, RequirementsConfig } from './config.ts'
import type { DecisionPlan } from './decide.ts'
import { decideRequirement } from './decide.ts'
import { openRequirements } from './open-requirements.ts'
import type { PaymentProvider } from './payment-provider.ts'
import { openReceiptProvider } from './receipt-provider.ts'
import { createActionRoutes } from './routes.ts'
import { openTestProvider } from './test-provider.ts'

export type { FindCall } from './approvals.ts'
export type { PaymentsConfig, RequirementsConfig } from './config.ts'
export { paymentsConfigSchema, requirementsConfigSchema } from './config.ts'
export { watchOverdue } from './overdue.ts'
export type { PaymentProvider } from './payment-provider.ts'

interface PolicyOptions {
  readonly requirements: RequirementsConfig
  readonly payments: PaymentsConfig | undefined
  /** Where relative paths of the configuration start. */
  readonly baseDir: string
  readonly store: Store
  readonly platform: Pick<Platform, 'now' | 'randomBytes' | 'log'>
  readonly agents: AgentDirectory
  /** Absent where no call of a tool waits for an operator. */
  readonly findCall?: FindCall | undefined
}

/** Everything that has to do with what agents require: how it is named, shown, decided and paid. */
export interface PolicyDeps {
  readonly requirements: RequirementDeps
  readonly showRequirement: ShowRequirement
  readonly requirementClaims: RequirementClaims
  readonly routes: Hono
  readonly approvals: OperatorApprovals
  /** @throws Rejection `forbidden` for what an operator does not grant */
  decide(requirement: RequirementRecord, plan: DecisionPlan): Promise<Resolved>
}

/** @throws ConfigError `payments` */
export async function openPolicy(options: PolicyOptions): Promise<PolicyDeps> {
  const { store, platform, agents } = options
  const { origin } = agents
  const ttlMs = options.requirements.expires_after_hours * 3_600_000
  const requirements = await openRequirements({ store, origin, ttlMs })
  const provider = await openProvider(options)
  const deciding = { store, platform, provider }
  const approvals = createOperatorApprovals(deciding, options.findCall ?? (async () => undefined))
  return {
    requirements,
    showRequirement: createShowRequirement(requirements),
    requirementClaims: createRequirementClaims(deciding, requirements),
    approvals,
    routes: createActionRoutes({ ...deciding, agents, approvals, digestOf: requirements.digestOf }),
    decide: (requirement, plan) => decideRequirement(requirement, plan, deciding),
  }
}

async function openProvider({
  payments,
  baseDir,
  store,
  platform,
  agents,
}: PolicyOptions): Promise<PaymentProvider | undefined> {
  const { origin } = agents
  if (!payments) return undefined
  if (payments.use === 'builtin:test') return openTestProvider({ store, platform, origin })
  return openReceiptProvider(payments, { origin, baseDir, now: () => platform.now() })
}
