// Describes a refused request or mail for the operator.

import type { ChannelName, RejectionCode } from '@postern/message'

/** A request or mail that was refused, or that the gateway could not accept for now. It contains no secret and no body. */
export interface Refusal {
  /** ISO 8601 UTC. */
  readonly at: string
  readonly via: ChannelName
  /** The peer's network address or host name. */
  readonly from: string
  /** The code of a `Rejection`. `unavailable` means that a service on which the gateway depends did not answer, and `internal` an error of the gateway. */
  readonly code: RefusalCode
  readonly reason: string
  /** The endpoint of the request, such as `POST /inbox`, `SMTP` or `SendMessage`. */
  readonly endpoint?: string | undefined
  /** The HTTP status or the SMTP reply code of the answer. */
  readonly status?: number | undefined
  /** The sender that it claims, without proof. */
  readonly claimed_sender?: string | undefined
  /** The addressed agent. */
  readonly agent?: string | undefined
  /** The peer's id of the activity, mail or message. */
  readonly peer_id?: string | undefined
}

/** The reason why a message that the gateway accepted reaches no agent. */
export interface UnusedIntake extends Pick<Refusal, 'reason' | 'agent'> {
  readonly code: Extract<RejectionCode, 'unsupported' | 'no_recipient' | 'forbidden'>
}

export type RefusalCode = RejectionCode | 'unavailable' | 'internal'

/** The claims of a request before the gateway has verified any of them. */
export type RefusalClaims = Pick<Refusal, 'claimed_sender' | 'agent' | 'peer_id'>
