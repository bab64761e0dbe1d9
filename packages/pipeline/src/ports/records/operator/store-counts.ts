// Describes the numbers of messages, deliveries and refusals in the store.

import type { StopFlag } from '@postern/message'
import type { DeliveryRecord } from './delivery-record.ts'
import type { MessageState } from './message-record.ts'
import type { Refusal } from './refusal.ts'

interface RefusedCount extends Pick<Refusal, 'via' | 'code'> {
  readonly count: number
}

export interface StoreCounts {
  readonly messages: Readonly<Record<MessageState, number>>
  readonly deliveries: Readonly<Record<DeliveryRecord['state'], number>>
  readonly refusals: number
  /** The refusals by channel and code, since the store began to count them this way. */
  readonly refused: readonly RefusedCount[]
  /** The messages that loop guards have held back. */
  readonly stopped: Readonly<Record<StopFlag, number>>
}
