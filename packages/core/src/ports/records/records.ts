import type { RejectionCode } from '../../format/errors.ts'
import type { Json } from '../../format/notations.ts'
import type { StopFlag } from '../../message/loop-limits.ts'
import type { ChannelName, NormalizedMessage } from '../../message/message.ts'
import type { Proof } from '../../message/proof.ts'
import type { NormalizedResponse } from '../../message/response.ts'
import type { DeliveryAttempt, IntakeTrace, TurnRecord } from '../trace/trace.ts'

export type MessageState = 'received' | 'working' | 'answered' | 'failed' | 'ignored'

/** A row of the operator's list. */
export interface MessageSummary {
  readonly message: number
  readonly id: string
  readonly via: ChannelName
  readonly agent: string
  readonly sender: string
  readonly verified: boolean
  readonly state: MessageState
  readonly received_at: string
  readonly preview: string
  readonly correlation_id: string
  /** Why it is kept, or what is odd about it. */
  readonly flags: readonly string[]
}

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
  /** When it was over, ISO 8601 UTC. */
  readonly ended_at?: string | undefined
  /** Oldest first; of very many the newest. */
  readonly attempt_log: readonly DeliveryAttempt[]
  readonly message_id: string
  /** The document that was sent last, without signatures or secrets. */
  readonly wire: Json
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
  /** How often the peer sent it again. */
  readonly duplicates: number
  readonly correlation_id: string
  /** The number of a later message that it is, or was, answered together with: `response` is the answer to both. */
  readonly merged_into?: number | undefined
  /** Numbers of further messages that claim the same id. */
  readonly namesakes?: readonly number[] | undefined
  /** Absent once its author has taken it back. */
  readonly trace?: IntakeTrace | undefined
  /** Absent when it has none, or shares the answer of another (`merged_into`). */
  readonly turn?: TurnRecord | undefined
}

/** A request or mail that was refused, or could not be taken for now. Never a secret, never a body. */
export interface Refusal {
  /** ISO 8601 UTC. */
  readonly at: string
  readonly via: ChannelName
  /** The peer's network address or host name. */
  readonly from: string
  /** Of a `Rejection`; `unavailable`: something we depend on did not answer; `internal`: a fault of ours. */
  readonly code: RefusalCode
  readonly reason: string
  /** Where it came in: `POST /inbox`, `SMTP`, `SendMessage`. */
  readonly endpoint?: string | undefined
  /** Status of the answer: of HTTP, or the reply code of SMTP. */
  readonly status?: number | undefined
  /** Who it says that it is from: nobody has proven it. */
  readonly claimed_sender?: string | undefined
  /** The agent it was for. */
  readonly agent?: string | undefined
  /** The peer's id of what it brought. */
  readonly peer_id?: string | undefined
}

export type RefusalCode = RejectionCode | 'unavailable' | 'internal'

/** What a request says of itself, before anything of it is proven. */
export type RefusalClaims = Pick<Refusal, 'claimed_sender' | 'agent' | 'peer_id'>

export interface StoreCounts {
  readonly messages: Readonly<Record<MessageState, number>>
  readonly deliveries: Readonly<Record<DeliveryRecord['state'], number>>
  readonly refusals: number
  /** Messages that guards against loops have kept back. */
  readonly stopped: Readonly<Record<StopFlag, number>>
}
