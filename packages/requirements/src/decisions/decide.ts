// Decides a requirement once, by a grant, a refusal or a payment of an authorized party, and ends overdue requirements.
import type { RequirementKind, System } from '@postern/message'
import { isForOperator, Rejection, randomHex } from '@postern/message'
import type {
  OverdueStore,
  RequirementDecision,
  RequirementDecisions,
  RequirementObjection,
  RequirementRecord,
  RequirementStore,
  ResolutionResult,
  UsedReceipt,
} from '@postern/pipeline'
import type { PaymentProvider } from '../payment/provider.ts'

/** The methods of decisions, and the kinds of requirements that each method may grant. Everybody may decline their own requirements. */
const grantableKindsByMethod = {
  /** The holder of the link that was sent to the person who decides. */
  link: ['consent_required'],
  /** The caller (A2A). */
  principal: ['consent_required'],
  receipt: ['payment_required'],
  /** The operator, who may have been paid in another way. Nobody else may consent for a person. */
  operator: ['payment_required', 'unauthorized'],
} as const satisfies Readonly<Record<string, readonly RequirementKind[]>>

type DecisionMethod = keyof typeof grantableKindsByMethod

/** The methods by which operators decide: the operator's own interfaces, or the link that was mailed to an operator. */
const operatorMethods: ReadonlySet<string> = new Set(['operator', 'link'])

export function mayGrant(
  method: DecisionMethod,
  { kind, policy }: Pick<RequirementRecord, 'kind' | 'policy'>,
): boolean {
  return isForOperator(policy)
    ? operatorMethods.has(method)
    : grantableKindsByMethod[method].some(grantableKind => grantableKind === kind)
}

/**
 * Plans a decision.
 * @throws Rejection `forbidden` if the method may not grant the requirement
 */
export function planDecision(
  { digest, kind, policy }: Pick<RequirementRecord, 'digest' | 'kind' | 'policy'>,
  { method, outcome, subject, receipt, args, remember }: DecisionPlan,
): RequirementDecision {
  if (outcome === 'granted' && !mayGrant(method, { kind, policy })) {
    throw new Rejection('forbidden', `Cannot decide: "${kind}" is not granted this way`)
  }
  if (remember && !mayGrant(method, { kind, policy })) {
    throw new Rejection('forbidden', 'Cannot decide: only the party that is asked may have the decision remembered')
  }
  const resolver = { method, ...(subject !== undefined && { subject }) }
  return {
    digest,
    kind,
    outcome,
    resolver,
    ...(receipt && { receipt }),
    ...(args !== undefined && { args }),
    ...(remember && { remember }),
  }
}

export interface DecisionPlan extends Pick<RequirementDecision, 'outcome' | 'receipt' | 'args' | 'remember'> {
  readonly method: DecisionMethod
  readonly subject?: string | undefined
}

export interface DecisionDeps {
  readonly store: Omit<RequirementStore, 'resolveRequirement'>
  readonly decisions: Pick<RequirementDecisions, 'resolveRequirement'>
  readonly system: Pick<System, 'now' | 'randomBytes' | 'log'>
  readonly provider: PaymentProvider | undefined
}

/**
 * Stores a decision, or reports why the decision does not count.
 * @throws Rejection, Unavailable
 */
export async function decideRequirement(
  requirement: RequirementRecord,
  plan: DecisionPlan,
  { decisions, system }: DecisionDeps,
): Promise<ResolutionResult> {
  const correlationId = randomHex(system, 8)
  const result = await decisions.resolveRequirement(planDecision(requirement, plan), correlationId)
  const { outcome, method } = plan
  const fields = {
    correlation_id: correlationId,
    requirement: requirement.id,
    agent: requirement.agent,
    outcome,
    method,
  }
  if (result.outcome === 'resolved') system.log.info({ ...fields, message: result.message }, 'requirement decided')
  else system.log.info({ ...fields, reason: result.reason }, 'decision does not count')
  return result
}

/**
 * The result of a payment. `reason` tells why the receipt does not pay the requirement. It is absent for a receipt that has paid this requirement
 * before, because its sender made no mistake.
 */
export interface Payment {
  readonly requirement: RequirementRecord
  readonly reason?: RequirementObjection | undefined
}

/**
 * Pays a requirement with a receipt.
 * @throws Rejection
 */
export async function payRequirement(
  requirement: RequirementRecord,
  receipt: string,
  deps: DecisionDeps,
): Promise<Payment> {
  const usedReceipt = await checkReceipt(requirement, receipt, deps)
  const result = await decideRequirement(
    requirement,
    { method: 'receipt', outcome: 'granted', receipt: usedReceipt },
    deps,
  )
  if (result.outcome === 'resolved') return { requirement: result.requirement }
  const { requirement: currentRequirement = requirement, reason } = result
  return currentRequirement.receipt === usedReceipt.key
    ? { requirement: currentRequirement }
    : { requirement: currentRequirement, reason }
}

/**
 * Verifies a receipt for a requirement.
 * @throws Rejection
 */
export async function checkReceipt(
  requirement: RequirementRecord,
  receipt: string,
  { provider }: Pick<DecisionDeps, 'provider'>,
): Promise<UsedReceipt> {
  if (requirement.kind !== 'payment_required') {
    throw new Rejection('forbidden', `Cannot take receipt: "${requirement.kind}" is not paid for`)
  }
  if (!provider) throw new Rejection('unsupported', 'Cannot take receipt: there is no payment provider here')
  return provider.verifyReceipt(receipt, requirement)
}

interface OverdueWatchDeps {
  readonly store: Pick<OverdueStore, 'listOverdue'>
  readonly decisions: Pick<RequirementDecisions, 'endOverdue'>
  readonly system: Pick<System, 'randomBytes' | 'log' | 'sleep'>
}

/** The pause between two checks, ms. It bounds the delay after a deadline. */
const pollMs = 1_000
const maxOverduePerRun = 50

/** Ends requirements that nobody decides in time, and informs the waiting party once, even if several gateways run. Stops when the signal aborts. */
export async function watchOverdue(deps: OverdueWatchDeps, signal: AbortSignal): Promise<void> {
  const { system } = deps
  while (!signal.aborted) {
    const endedCount = await endOverdue(deps, signal).catch(err => {
      system.log.warn({ err }, 'overdue requirements could not be listed')
      return 0
    })
    if (endedCount < maxOverduePerRun) await system.sleep(pollMs, signal).catch(() => undefined)
  }
}

/** Ends overdue requirements and returns their number. A failure is retried later and does not block the others. */
async function endOverdue({ store, decisions, system }: OverdueWatchDeps, signal: AbortSignal): Promise<number> {
  let endedCount = 0
  for (const { id, agent } of await store.listOverdue(maxOverduePerRun)) {
    if (signal.aborted) break
    const correlationId = randomHex(system, 8)
    const fields = { correlation_id: correlationId, requirement: id, agent }
    try {
      const message = await decisions.endOverdue(id, correlationId)
      endedCount += 1
      system.log.info({ ...fields, message }, 'nobody decided in time')
    } catch (err) {
      system.log.warn({ ...fields, err }, 'an overdue requirement could not be ended')
    }
  }
  return endedCount
}
