// Describes the outcome of an attempt to deliver.

import type { DeliveryAttempt, DeliveryReason, Json } from '@postern/message'

/** The record of an attempt to deliver, for the operator. */
interface SettlementRecord {
  /** The document that was sent. */
  readonly wire?: Json | undefined
  /** The attempt; absent if none was made. */
  readonly attempt?: Pick<DeliveryAttempt, 'at' | 'ms' | 'status' | 'reply_line'> | undefined
}

/** The outcome of an attempt to deliver. */
export type Settlement = SettlementRecord &
  (
    | { readonly state: 'sent'; readonly note?: string | undefined }
    | {
        readonly state: 'later'
        readonly dueAt: number
        readonly reason: DeliveryReason
        readonly error: string
        /** True if the delivery was not attempted, because its host is paused after failures. */
        readonly isUncounted?: boolean | undefined
      }
    | { readonly state: 'dead'; readonly reason: DeliveryReason; readonly error: string }
  )
