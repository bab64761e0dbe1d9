// Describes a stored message in the lists and pages of the operator.

import type {
  ChannelName,
  IntakeTrace,
  NormalizedMessage,
  NormalizedResponse,
  Proof,
  ResponseStatus,
  TurnRecord,
  TurnStep,
} from '@postern/message'
import type { DeliveryRecord } from './delivery-record.ts'

export type MessageState = 'received' | 'working' | 'answered' | 'failed' | 'ignored'

/** A row of the operator's list. */
export interface MessageSummary {
  readonly message: number
  /** The number of its conversation. */
  readonly thread: number
  readonly id: string
  readonly via: ChannelName
  readonly agent: string
  readonly sender: string
  readonly verified: boolean
  readonly state: MessageState
  /** The status of its answer. */
  readonly status?: ResponseStatus | undefined
  readonly received_at: string
  /** The time of its answer, ISO 8601 UTC. */
  readonly answered_at?: string | undefined
  readonly preview: string
  readonly correlation_id: string
  /** The reasons why it is kept from the agent, and its peculiarities. */
  readonly flags: readonly string[]
}

/** The operator's whole view of one message. */
export interface MessageRecord {
  readonly number: number
  readonly thread: number
  readonly message: NormalizedMessage
  readonly proofs: readonly Proof[]
  readonly state: MessageState
  readonly flags: readonly string[]
  readonly error?: string | undefined
  readonly response: NormalizedResponse | null
  readonly deliveries: readonly DeliveryRecord[]
  /** The number of times that the peer sent the message again. */
  readonly duplicates: number
  readonly correlation_id: string
  /** The number of a later message with the same answer, because both messages were merged into one turn. */
  readonly merged_into?: number | undefined
  /** Numbers of further messages that claim the same id. */
  readonly namesakes?: readonly number[] | undefined
  /** The record of its arrival; absent once its author has withdrawn it. */
  readonly trace?: IntakeTrace | undefined
  /** The turn; absent if it has none, or if it shares the answer of another message (`merged_into`). */
  readonly turn?: TurnRecord | undefined
  /** The notes of the agent in its turn, in chronological order. */
  readonly steps?: readonly TurnStep[] | undefined
}
