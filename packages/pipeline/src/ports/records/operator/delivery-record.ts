// Describes a delivery in the lists and pages of the operator.

import type { ChannelName, DeliveryAttempt, Json } from '@postern/message'

export interface DeliveryRecord {
  readonly id: string
  readonly via: ChannelName
  readonly to: string
  readonly state: 'queued' | 'sent' | 'later' | 'dead' | 'dismissed'
  readonly attempts: number
  readonly last_error?: string | undefined
  readonly next_attempt_at?: string | undefined
  /** ISO 8601 UTC. */
  readonly queued_at: string
  /** The time of its end, ISO 8601 UTC. */
  readonly ended_at?: string | undefined
  /** The attempts, oldest first; only the newest if there are very many. */
  readonly attempt_log: readonly DeliveryAttempt[]
  readonly message_id: string
  /** The document that was sent last, without signatures or secrets. */
  readonly wire: Json
}
