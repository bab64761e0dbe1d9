import type {
  OverdueStore,
  Platform,
  RequirementDecision,
  RequirementDecisions,
  RequirementKind,
  RequirementObjection,
  RequirementRecord,
  RequirementStore,
  Resolved,
  UsedReceipt,
} from '@postern/core'
import { isForOperator, Rejection, randomHex } from '@postern/core'
import type { PaymentProvider } from '../payment/provider.ts'

/** Ways a requirement is decided, and what each may grant. Everybody may decline what is theirs. */
const grantable = {
  /** Who has the link that was sent to whom it is for. */
  link: ['consent_required'],
  /** The caller (A2A). */
  principal: ['consent_required'],
  receipt: ['payment_required'],
  /** The operator may have been paid otherwise; nobody else consents for a person. */
  operator: ['payment_required', 'unauthorized'],
} as const satisfies Readonly<Record<string, readonly RequirementKind[]>>

type DecisionMethod = keyof typeof grantable

/** What operators decide is theirs alone: by their own doors, or by the link that was mailed to one of them. */
const operatorWays: ReadonlySet<string> = new Set(['operator', 'link'])

export function mayGrant(
  method: DecisionMethod,
  { kind, policy }: Pick<RequirementRecord, 'kind' | 'policy'>,
): boolean {
  return isForOperator(policy) ? operatorWays.has(method) : grantable[method].some(granted => granted === kind)
}

/** @throws Rejection `forbidden` when this way does not grant it */
export function planDecision(
  { digest, kind, policy }: Pick<RequirementRecord, 'digest' | 'kind' | 'policy'>,
  { method, outcome, subject, receipt, args, remember }: DecisionPlan,
): RequirementDecision {
  if (outcome === 'granted' && !mayGrant(method, { kind, policy })) {
    throw new Rejection('forbidden', `Cannot decide: "${kind}" is not granted this way`)
  }
  if (remember && !mayGrant(method, { kind, policy })) {
    throw new Rejection('forbidden', 'Cannot decide: only whoever is asked says what is to be remembered')
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
  readonly platform: Pick<Platform, 'now' | 'randomBytes' | 'log'>
  readonly provider: PaymentProvider | undefined
}

/** Takes a decision, or says why it does not count. @throws Rejection, Unavailable */
export async function decideRequirement(
  requirement: RequirementRecord,
  plan: DecisionPlan,
  { decisions, platform }: DecisionDeps,
): Promise<Resolved> {
  const correlationId = randomHex(platform, 8)
  const resolved = await decisions.resolveRequirement(planDecision(requirement, plan), correlationId)
  const { outcome, method } = plan
  const fields = {
    correlation_id: correlationId,
    requirement: requirement.id,
    agent: requirement.agent,
    outcome,
    method,
  }
  if (resolved.outcome === 'resolved')
    platform.log.info({ ...fields, message: resolved.message }, 'requirement decided')
  else platform.log.info({ ...fields, reason: resolved.reason }, 'decision does not count')
  return resolved
}

/** `reason`: why it is not paid by it. A receipt that has paid this requirement already pays it no second time, but is no mistake of who brings it. */
export interface Payment {
  readonly requirement: RequirementRecord
  readonly reason?: RequirementObjection | undefined
}

/** @throws Rejection */
export async function payRequirement(
  requirement: RequirementRecord,
  receipt: string,
  deciding: DecisionDeps,
): Promise<Payment> {
  const used = await checkReceipt(requirement, receipt, deciding)
  const resolved = await decideRequirement(
    requirement,
    { method: 'receipt', outcome: 'granted', receipt: used },
    deciding,
  )
  if (resolved.outcome === 'resolved') return { requirement: resolved.requirement }
  const { requirement: current = requirement, reason } = resolved
  return current.receipt === used.key ? { requirement: current } : { requirement: current, reason }
}

/** @throws Rejection */
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
  readonly platform: Pick<Platform, 'randomBytes' | 'log' | 'sleep'>
}

/** Nobody waits much longer than they were told, ms. */
const lookMs = 1_000
const mostAtOnce = 50

/** Until the signal aborts: whoever waits for an operator who has not decided in time is told so, once, whichever gateway is first. */
export async function watchOverdue(deps: OverdueWatchDeps, signal: AbortSignal): Promise<void> {
  const { platform } = deps
  while (!signal.aborted) {
    const ended = await endOverdue(deps, signal).catch(err => {
      platform.log.warn({ err }, 'waits whose time is over could not be looked for')
      return 0
    })
    if (ended < mostAtOnce) await platform.sleep(lookMs, signal).catch(() => undefined)
  }
}

/** How many there were. One that fails is tried again, and holds up nobody. */
async function endOverdue({ store, decisions, platform }: OverdueWatchDeps, signal: AbortSignal): Promise<number> {
  let ended = 0
  for (const { id, agent } of await store.listOverdue(mostAtOnce)) {
    if (signal.aborted) break
    const correlationId = randomHex(platform, 8)
    const fields = { correlation_id: correlationId, requirement: id, agent }
    try {
      const message = await decisions.endOverdue(id, correlationId)
      ended += 1
      platform.log.info({ ...fields, message }, 'nobody decided in time')
    } catch (err) {
      platform.log.warn({ ...fields, err }, 'a wait whose time is over could not be ended')
    }
  }
  return ended
}
