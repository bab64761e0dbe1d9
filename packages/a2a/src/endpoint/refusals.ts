import type { ChannelContext, IntakeSteps, RefusalPlace } from '@postern/core'
import { hasRefusal, isJsonObject, recordRefusal } from '@postern/core'
import { readClaimedSubject } from '@postern/http/tokens'
import { toFault } from '../format/errors.ts'
import type { Call } from './call.ts'

/** Where a call came in, as the operator's list names it. */
interface CallPlace {
  readonly from: string
  readonly binding: Call['binding']
  readonly steps: IntakeSteps
  /** One object for one call. */
  readonly request: object
}

const statusOf = (error: unknown) => toFault(error).row.http

/** What the operator's list keeps of a call that is not taken. */
export function placeOf({ from, binding, steps, request }: CallPlace): RefusalPlace {
  return { from, endpoint: `A2A ${binding}`, statusOf, request, ...steps.claims() }
}

/** Remembers what was refused before an operation began. */
export function recordCall(error: unknown, place: CallPlace, { store, platform }: ChannelContext): void {
  recordRefusal(error, 'a2a', { store, platform, ...placeOf(place) })
}

/** Remembers what failed for no fault of the caller's, unless it is remembered already. */
export function recordFailure(error: unknown, place: CallPlace, gateway: ChannelContext): void {
  if (statusOf(error) >= 500 && !hasRefusal(place.request)) recordCall(error, place, gateway)
}

/** Whom a call claims to be from, for whom it is, and of which trace. */
export function claimCall(steps: IntakeSteps, { headers }: { readonly headers: Headers }, agent?: string): void {
  const sender = readClaimedSubject(headers)
  steps.calledFrom(headers.get('traceparent') ?? undefined)
  steps.claim({ agent, ...(sender !== undefined && { claimed_sender: sender }) })
}

/** The caller's id of the message that a call brings. */
export function claimMessage(steps: IntakeSteps, params: unknown): void {
  const message = isJsonObject(params) ? params.message : undefined
  const id = isJsonObject(message) ? (message.messageId ?? message.message_id) : undefined
  if (typeof id === 'string') steps.claim({ peer_id: id })
}
