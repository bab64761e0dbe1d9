// Describes one attempt to deliver.

/** The reason why a delivery waits or has failed, recorded when it arose. */
export type DeliveryReason =
  | 'blocked'
  | 'bounced'
  | 'channel_closed'
  | 'dropped'
  | 'given_up'
  | 'host_asked_for_time'
  | 'host_left_alone'
  | 'refused'
  | 'sender_removed'
  | 'suppressed'
  | 'taken_back'
  | 'unavailable'

/** One attempt at a delivery. */
export interface DeliveryAttempt {
  /** The number of the attempt, 1 for the first. */
  readonly attempt: number
  readonly at: number
  readonly ms: number
  readonly outcome: 'sent' | 'later' | 'dead'
  /** The status of HTTP, or the reply code of SMTP; absent if there was no answer. */
  readonly status?: number | undefined
  /** The first line of the peer's answer. */
  readonly reply_line?: string | undefined
  /** The reason why the gateway did not send it. */
  readonly error?: string | undefined
  /** The time at which the next attempt is due. */
  readonly next_at?: number | undefined
}

/** The reply of the peer to an attempt to deliver. */
export type DeliveryReply = Pick<DeliveryAttempt, 'status' | 'reply_line'>
