import type {
  AgentDirectory,
  DemandClaims,
  DemandHouse,
  DemandRecord,
  Desk,
  OperatorApprovals,
  Resolved,
  ShowDemand,
  World,
} from '@postern/core'
import { createShowDemand } from '@postern/core'
import type { Hono } from 'hono'
import type { FindCall } from './approvals.ts'
import { createOperatorApprovals } from './approvals.ts'
import { createDemandClaims } from './claims.ts'
import type { DemandsConfig, PaymentsConfig } from './config.ts'
import type { DecisionPlan } from './decide.ts'
import { decideDemand } from './decide.ts'
import { openDemandHouse } from './demand-house.ts'
import type { PaymentProvider } from './payment-provider.ts'
import { openReceiptProvider } from './receipt-provider.ts'
import { createActionRoutes } from './routes.ts'
import { openTestProvider } from './test-provider.ts'

export type { FindCall } from './approvals.ts'
export type { DemandsConfig, PaymentsConfig } from './config.ts'
export { demandsConfigSchema, paymentsConfigSchema } from './config.ts'
export { watchOverdue } from './overdue.ts'
export type { PaymentProvider } from './payment-provider.ts'

export interface PolicyOptions {
  readonly demands: DemandsConfig
  readonly payments: PaymentsConfig | undefined
  /** Where relative paths of the configuration start. */
  readonly baseDir: string
  readonly desk: Desk
  readonly world: Pick<World, 'now' | 'randomBytes' | 'log'>
  readonly agents: AgentDirectory
  /** Absent where no call of a tool waits for an operator. */
  readonly findCall?: FindCall | undefined
}

/** Everything that has to do with what agents demand: how it is named, shown, decided and paid. */
export interface PolicyRoom {
  readonly demands: DemandHouse
  readonly showDemand: ShowDemand
  readonly demandClaims: DemandClaims
  readonly routes: Hono
  readonly approvals: OperatorApprovals
  /** @throws Rejection `forbidden` for what an operator does not grant */
  decide(demand: DemandRecord, plan: DecisionPlan): Promise<Resolved>
}

/** @throws ConfigError `payments` */
export async function openPolicy(options: PolicyOptions): Promise<PolicyRoom> {
  const { desk, world, agents } = options
  const { origin } = agents
  const ttlMs = options.demands.expires_after_hours * 3_600_000
  const demands = await openDemandHouse({ desk, origin, ttlMs })
  const provider = await openProvider(options)
  const deciding = { desk, world, provider }
  const approvals = createOperatorApprovals(deciding, options.findCall ?? (async () => undefined))
  return {
    demands,
    showDemand: createShowDemand(demands),
    demandClaims: createDemandClaims(deciding, demands),
    approvals,
    routes: createActionRoutes({ ...deciding, agents, approvals, digestOf: demands.digestOf }),
    decide: (demand, plan) => decideDemand(demand, plan, deciding),
  }
}

async function openProvider({
  payments,
  baseDir,
  desk,
  world,
  agents,
}: PolicyOptions): Promise<PaymentProvider | undefined> {
  const { origin } = agents
  if (!payments) return undefined
  if (payments.use === 'builtin:test') return openTestProvider({ desk, world, origin })
  return openReceiptProvider(payments, { origin, baseDir, now: () => world.now() })
}
