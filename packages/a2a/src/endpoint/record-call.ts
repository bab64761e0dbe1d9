// Records refused and failed calls for the operator.
import type { HeaderFields } from '@postern/http'
import { readClaimedSubject } from '@postern/http/tokens'
import { isJsonObject } from '@postern/message'
import type { ChannelContext, IntakeSteps, RefusalContext } from '@postern/pipeline'
import { hasRefusal, recordRefusal } from '@postern/pipeline'
import { toA2aError } from '../format/errors.ts'
import type { Call } from './call.ts'

/** The endpoint and the peer of a call, for the operator's list. */
interface CallOrigin {
  readonly from: string
  readonly binding: Call['binding']
  readonly steps: IntakeSteps
  /** The request, which identifies the call. */
  readonly request: object
}

const statusOf = (error: unknown) => toA2aError(error).type.http

/** Returns the data of a refused call for the operator's list. */
export function describeOrigin({ from, binding, steps, request }: CallOrigin): RefusalContext {
  return { from, endpoint: `A2A ${binding}`, statusOf, request, ...steps.claims() }
}

/** Records a call that was refused before its operation began. */
export function recordRefusedCall(error: unknown, origin: CallOrigin, { store, system }: ChannelContext): void {
  recordRefusal(error, 'a2a', { store, system, ...describeOrigin(origin) })
}

/** Records a failure of the gateway, unless it is already recorded. */
export function recordFailure(error: unknown, origin: CallOrigin, gateway: ChannelContext): void {
  if (statusOf(error) >= 500 && !hasRefusal(origin.request)) recordRefusedCall(error, origin, gateway)
}

/** Records the claimed sender of a call, its agent and its trace. */
export function recordCallClaims(
  steps: IntakeSteps,
  { headers }: { readonly headers: HeaderFields },
  agent?: string,
): void {
  const sender = readClaimedSubject(headers)
  steps.recordCaller(headers.get('traceparent') ?? undefined)
  steps.recordClaims({ agent, ...(sender !== undefined && { claimed_sender: sender }) })
}

/** Records the id that the caller gave the message in a call. */
export function recordMessageId(steps: IntakeSteps, params: unknown): void {
  const message = isJsonObject(params) ? params.message : undefined
  const id = isJsonObject(message) ? (message.messageId ?? message.message_id) : undefined
  if (typeof id === 'string') steps.recordClaims({ peer_id: id })
}
