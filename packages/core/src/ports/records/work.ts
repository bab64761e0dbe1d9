import type { Json } from '../../format/notations.ts'
import type { ChannelName, NormalizedMessage } from '../../message/message.ts'
import type { NormalizedResponse } from '../../message/response.ts'
import type { DeliveryAttempt, TurnAttempt } from '../trace/trace.ts'
import type { Intake } from './intake.ts'
import type { TurnNote } from './note.ts'
import type { Blob, PlannedBroadcast, PlannedDelivery, RelationKind } from './planned-delivery.ts'
import type { PlannedRequirement } from './requirement-record.ts'
import type { TaskKey } from './task.ts'

export interface LeaseRequest {
  /** Who works: one name per process. */
  readonly holder: string
  readonly limit: number
  /** Milliseconds the lease lasts from now. */
  readonly leaseMs: number
  readonly shares?: Shares | undefined
}

/**
 * How much of one agent (for turns) or destination host (for deliveries) may run at once, and does already here. What other holders
 * run of an agent counts, too, but for turns that wait for another agent.
 */
interface Shares {
  readonly most: number
  /** For whom it is another number. */
  readonly mostOf?: ReadonlyMap<string, number> | undefined
  readonly taken: ReadonlyMap<string, number>
}

/** Answers go before what is spread to many. */
export type DeliveryRank = 'answer' | 'broadcast'

export interface DeliveryLeaseRequest extends LeaseRequest {
  readonly rank: DeliveryRank
}

/** One agent's turn, leased. `token` fences: a commit with an outlived token is refused with `LeaseLost`. */
export interface Turn {
  readonly message: number
  readonly token: number
  /** 1 for the first try. */
  readonly attempt: number
  /** How many tries in a row before this one ended without a word: the process died over them. */
  readonly crashes: number
  readonly agent: string
  readonly via: ChannelName
  /** Whole but for `history`; `raw` is rebuilt from the stored bytes when it is first read. */
  readonly content: NormalizedMessage
  readonly thread: number
  readonly target: Json
  readonly flags: readonly string[]
  readonly correlationId: string
  readonly task?: TaskKey | undefined
  /** Earlier messages that this turn answers, too, oldest first; their parts stand first in `content.parts`. */
  readonly merged?: readonly number[] | undefined
  /** Its message has begun its thread: nothing came before it. Absent: the store does not say. */
  readonly isFirst?: boolean | undefined
  /** How often its words have changed since they came; absent: never. */
  readonly revision?: number | undefined
}

/** The first message a turn answers: what came before it is the past. */
export function beginningOf({ message, merged }: Pick<Turn, 'message' | 'merged'>): number {
  return merged?.[0] ?? message
}

/** The destinations of a response: single ones, and all peers in a relation. */
export interface Planned {
  readonly deliveries: readonly PlannedDelivery[]
  readonly broadcasts?: readonly PlannedBroadcast[] | undefined
}

/** The outcome of a turn. No `response`: the agent chose not to answer. */
export interface Answer extends Planned {
  readonly response?: NormalizedResponse | undefined
  /** True when the response takes the place of one that the same turn gave meanwhile (`say`), under the same id. */
  readonly isRevision?: boolean | undefined
  /** What rendering the response takes beside the message's own target. */
  readonly rendering?: Json | undefined
  /** Bytes that the response's parts refer to. */
  readonly blobs?: readonly Blob[] | undefined
  /** What it requires of the sender; their rows are written with it. */
  readonly requirements?: readonly PlannedRequirement[] | undefined
  /** The agent's actions besides answering. */
  readonly acts?: readonly PlannedAction[] | undefined
  /** What is noted of the turn and not kept yet; stands before the answer. */
  readonly notes?: readonly TurnNote[] | undefined
  /** How many notes of its own (`note 1`, …) a turn made that has been tried before: what an earlier try made beyond them goes. */
  readonly noted?: number | undefined
  /** Ids under which the answer is known on the wire; replies that name them come back to this thread. */
  readonly aliases?: readonly string[]
  /** Everybody may read it: counted and listed among what the agent has published. */
  readonly isListed?: boolean | undefined
  /** The agent's new state for this thread; left out when unchanged. */
  readonly state?: Json | undefined
  /** The agent's state about the person, in all their conversations; left out when unchanged. */
  readonly personState?: { readonly person: string; readonly state: Json } | undefined
  /** The gateway's own word: neither it nor what it answers is recalled as part of the conversation. */
  readonly isGatewayReply?: true | undefined
  /** For the operator, when the agent failed. */
  readonly error?: string | undefined
  /** How the attempt went; for the operator. */
  readonly attempt?: TurnAttempt | undefined
}

/** An act of an agent, ready to be made durable. */
export type PlannedAction =
  | {
      readonly kind: 'post'
      /**
       * Replaces the message of an answer: the occasion of an agent's unasked words. Stored, never given to an agent.
       */
      readonly synthetic: Intake
      readonly answer: Answer & { readonly response: NormalizedResponse }
    }
  | {
      /** A document of the protocol itself, which says nothing of the agent's. */
      readonly kind: 'tell'
      readonly synthetic: Intake
      readonly planned: Planned
    }
  | {
      readonly kind: 'edit'
      readonly response: NormalizedResponse
      readonly blobs?: readonly Blob[] | undefined
      readonly planned: Planned
    }
  | {
      /** The content of the response is gone, what is not yet delivered of it dies. */
      readonly kind: 'delete'
      readonly response: string
      readonly planned: Planned
    }
  | {
      readonly kind: 'react'
      /** The number of the message reacted to. */
      readonly message: number
      readonly planned: Planned
    }

/** A broadcast, leased: spread into deliveries page by page, in the order in which its peers came into the relation. */
export interface Broadcast {
  readonly id: number
  readonly via: ChannelName
  readonly agent: string
  readonly relation: RelationKind
  readonly target: Json
  /** The place of the last peer whose delivery is queued. */
  readonly after: number
  /** Who comes later is not meant. */
  readonly until: number
}

/** One delivery, leased. */
export interface Delivery extends Pick<Turn, 'token' | 'attempt' | 'via' | 'agent' | 'target' | 'correlationId'> {
  readonly id: string
  /** When it was queued, ms. */
  readonly queuedAt: number
  /** Deliveries of one thread to one destination go in their order; absent where nothing is leased. */
  readonly thread?: number | undefined
  readonly to: string
  /** What is answered (without `history`), and the answer; both absent for a handshake without a turn. */
  readonly message: NormalizedMessage
  readonly response?: NormalizedResponse | undefined
  /** What rendering the response takes beside the message's own target. */
  readonly rendering?: Json | undefined
  /** What all deliveries of one broadcast have in common. */
  readonly broadcast?: Json | undefined
}

/** What is kept of an attempt to deliver, for the operator. */
interface SettlementRecord {
  /** The document that was sent. */
  readonly wire?: Json | undefined
  /** How the attempt went; absent when none was made. */
  readonly attempt?: Pick<DeliveryAttempt, 'at' | 'ms' | 'status' | 'reply_line'> | undefined
}

/** How an attempt to deliver ended. */
export type Settlement = SettlementRecord &
  (
    | { readonly state: 'sent'; readonly note?: string | undefined }
    | {
        readonly state: 'later'
        readonly dueAt: number
        readonly error: string
        /** It was not tried: its host is being left alone. */
        readonly uncounted?: boolean | undefined
      }
    | { readonly state: 'dead'; readonly error: string }
  )
