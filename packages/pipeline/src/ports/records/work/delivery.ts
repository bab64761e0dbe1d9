// Describes a leased delivery, and the broadcast that expands into deliveries.

import type { ChannelName, Json, NormalizedMessage, NormalizedResponse } from '@postern/message'
import type { RelationKind } from '../planned-delivery.ts'
import type { Turn } from './turn.ts'

/** A leased broadcast. It is expanded into deliveries page by page, in the order in which its peers entered the relation. */
export interface Broadcast {
  readonly id: number
  readonly via: ChannelName
  readonly agent: string
  readonly relation: RelationKind
  readonly target: Json
  /** The number of the last peer whose delivery is queued. */
  readonly lastQueuedPeer: number
  /** The number of the last peer that gets the broadcast; peers that entered the relation later are left out. */
  readonly lastPeer: number
}

/** A leased delivery. */
export interface Delivery
  extends Pick<Turn, 'token' | 'attempt' | 'firstAttemptAt' | 'via' | 'agent' | 'target' | 'correlationId'> {
  readonly id: string
  /** The time at which the delivery was queued, in ms. */
  readonly queuedAt: number
  /** The number of the thread; absent if the delivery is not leased. The deliveries of a thread to one destination are sent in order. */
  readonly thread?: number | undefined
  /** The destination that the operator sees: an inbox address, a mailbox, a task id. */
  readonly to: string
  /** The message that caused the delivery, without `history`. `response` is absent for a handshake without a turn. */
  readonly message: NormalizedMessage
  readonly response?: NormalizedResponse | undefined
  /** The data for rendering the response besides the message's own target. */
  readonly rendering?: Json | undefined
  /** The common part of all deliveries of one broadcast. */
  readonly broadcast?: Json | undefined
}
