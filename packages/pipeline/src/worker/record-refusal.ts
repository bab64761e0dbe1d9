// Records refused and failed requests for the operator.

import type { ChannelName, System } from '@postern/message'
import { isoTime, Rejection, Unavailable } from '@postern/message'
import type { Refusal, RefusalClaims, RefusalCode, UnusedIntake } from '../ports/records/operator/refusal.ts'
import type { IntakeStore } from '../ports/store/intake-store.ts'

/** The origin and the endpoint of a refused request, and its claims. */
export interface RefusalContext extends RefusalClaims, Pick<Refusal, 'endpoint'> {
  /** The peer's network address, for the operator. */
  readonly from: string
  /** Returns the status of its answer. Absent if answers have no numeric status. */
  readonly statusOf?: ((error: unknown) => number | undefined) | undefined
  /** The refused request itself, so that its refusal is recorded only once. */
  readonly request?: object | undefined
}

/** The dependencies of recording a refusal. */
export interface RefusalDeps extends RefusalContext {
  readonly store: Pick<IntakeStore, 'refuse'>
  readonly system: Pick<System, 'now' | 'randomBytes' | 'log'>
}

const recordedRequests = new WeakSet<object>()
const selfTestOutcomes = new WeakMap<object, SelfTestOutcome>()

/** The expected outcome of a request of the gateway to itself. */
export type SelfTestOutcome = 'refused' | 'taken'

/**
 * Marks a request of the gateway to itself, which is not listed if it has the expected outcome. A caller may mark
 * only a request that has proven to be such a request.
 */
export function markSelfTest(request: object, expectedOutcome: SelfTestOutcome): void {
  selfTestOutcomes.set(request, expectedOutcome)
}

/** Returns true if a refusal of this request has been recorded. */
export function hasRefusal(request: object): boolean {
  return recordedRequests.has(request)
}

/** Records a refusal or a failure for the operator, regardless of the stage of the intake. */
export function recordRefusal(error: unknown, via: ChannelName, deps: RefusalDeps): void {
  const { store, system, from, statusOf, request } = deps
  if (request) recordedRequests.add(request)
  if (request && selfTestOutcomes.get(request) === 'refused' && error instanceof Rejection) return
  const { code, reason } = classifyRefusal(error)
  const { endpoint, claimed_sender, agent, peer_id } = deps
  const context = { endpoint, status: statusOf?.(error), claimed_sender, agent, peer_id }
  if (!store.refuse({ at: isoTime(system.now()), via, from, code, reason, ...context })) return
  // The stack of a refusal adds nothing to its message, but its cause may.
  if (error instanceof Rejection) {
    const cause = error.cause === undefined ? {} : { err: error }
    system.log.info({ via, from, code, reason, ...cause }, 'message refused')
  } else system.log.warn({ via, from, code, reason, err: error }, 'message not taken')
}

/** Records an accepted message that reaches no agent in the same list, so that nothing for an agent vanishes without a trace. */
export function recordUnused({ code, reason, agent }: UnusedIntake, via: ChannelName, deps: RefusalDeps): void {
  const { store, system, from, endpoint, claimed_sender, peer_id, request } = deps
  if (request && selfTestOutcomes.get(request) === 'taken') return
  const context = { endpoint, claimed_sender, agent: agent ?? deps.agent, peer_id }
  if (!store.refuse({ at: isoTime(system.now()), via, from, code, reason, ...context })) return
  system.log.info({ via, from, code, reason }, 'message accepted, with nothing for an agent')
}

/** Returns the code and the reason that the operator's list shows for an error. */
export function classifyRefusal(error: unknown): { readonly code: RefusalCode; readonly reason: string } {
  if (error instanceof Rejection) return { code: error.code, reason: error.message }
  if (error instanceof Unavailable) return { code: 'unavailable', reason: error.message }
  return { code: 'internal', reason: 'a fault of the gateway: its log has it' }
}
