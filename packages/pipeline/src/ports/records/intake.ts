// Describes a message to one agent as a channel hands it to the store.

import type { ChannelName, IntakeTrace, Json, LoopLimits, NormalizedMessage, Proof, ProofKey } from '@postern/message'
import type { Blob, PlannedDelivery } from './planned-delivery.ts'
import type { QueueMode } from './queue-mode.ts'
import type { Authorship, RelationEffect } from './relation.ts'
import type { RequirementDecision } from './requirement-record.ts'
import type { TaskIntake, TaskKey } from './task.ts'

/** A message to one agent with everything that a channel has proven and read, ready to be made durable. */
export interface Intake {
  /** The local agent's name. */
  readonly agent: string
  readonly message: IntakeMessage
  /** The key that identifies a repeated message, which is answered like the first time and handled only once. Unique per channel and agent. */
  readonly duplicateKey: string
  /** A digest of the content. If it is present, the same key with another fingerprint is a conflict instead of a duplicate. */
  readonly fingerprint?: string | undefined
  readonly thread: {
    /** The readers: `public`, or a private circle. Threads of different scopes never meet, regardless of the ids that a peer claims. */
    readonly scope: string
    /** Ids of earlier messages. The first known id in this scope determines the thread; otherwise `message.thread_source` does. */
    readonly references: readonly string[]
    /** The principal who begins the thread with this message, if others take part as well. */
    readonly begunBy?: string | undefined
    /** The conversation of another channel that the message continues. The answer goes out over that channel, which also owns `target`. */
    readonly joined?: JoinedThread | undefined
  }
  /** Further ids of the message (an object IRI besides its activity IRI). */
  readonly aliases: readonly string[]
  readonly proofs: readonly Proof[]
  /** The time at which its peer claims to have sent it, in ms, for the operator. Anything other than a number means that there is no claim. */
  readonly sentAt?: number | undefined
  /** The record of its arrival, for the operator. */
  readonly trace?: IntakeTrace | undefined
  /** The public keys that the steps of `trace` name by digest. */
  readonly proofKeys?: readonly ProofKey[] | undefined
  /** The data that arrived beside the bytes, without credentials. The channel needs it to read them again (`ChannelDiagnostics.replay`). */
  readonly arrival?: Json | undefined
  /** The bytes that arrived, without credentials. */
  readonly raw: { readonly bytes: Uint8Array; readonly form: 'json' | 'text' }
  readonly blobs?: readonly Blob[]
  /** The data that the channel needs to answer; opaque to others. */
  readonly target: Json
  /** `answer`: the agent gets a turn. `keep`: stored and shown to the operator, never given to the agent. */
  readonly disposition: 'answer' | 'keep'
  /** The reasons why it is kept from the agent, and its peculiarities. */
  readonly flags?: readonly string[]
  readonly task?: TaskIntake | undefined
  /** The handshakes that are queued together with its admission (an `Accept` of a `Follow`). */
  readonly deliveries?: readonly PlannedDelivery[]
  /** The author of content that may be edited or withdrawn. If the author has blocked the agent, the message is kept with the flag `blocked_by`. */
  readonly authorship?: Authorship | undefined
  readonly effects?: readonly RelationEffect[]
  /** The decision that it makes on a requirement. Its admission uses up the requirement; otherwise the message is refused. */
  readonly resolution?: RequirementDecision | undefined
  /** The quota of a sender that is a program: a message that exceeds it in this thread is kept with the flag `loop_guard`. It ignores tasks. */
  readonly quota?: TurnQuota | undefined
  /** The limits on stored bytes for the sender. The store refuses a message that exceeds them. */
  readonly storage?: StorageQuota | undefined
  /** The budgets that must all have capacity; otherwise the message is kept with the flag of the first exhausted one. They ignore tasks. */
  readonly budgets?: readonly TurnBudget[] | undefined
  /** The limits on loops: a message that exceeds them is kept with the flag `loop_guard`. They ignore tasks. */
  readonly loop?: LoopLimits | undefined
  /** The mode in which it waits in its thread; default: in order. */
  readonly queueMode?: QueueMode | undefined
  /** True if its sender follows or polls the turn from its beginning. The turn then begins when the message is durable, so that they miss nothing. */
  readonly isFollowed?: boolean | undefined
  /** The readers of an answer to it, in a thread with messages to different circles, which are never answered together. */
  readonly audience?: string | undefined
}

/**
 * A message without `raw` (stored as bytes), `history` (built when the agent is called) and `thread_id` (chosen by the store for a scope and a
 * `thread_source`, so that no channel can name it).
 */
type IntakeMessage = Omit<NormalizedMessage, 'raw' | 'history' | 'thread_id' | 'thread_source'> & {
  readonly thread_source: string
}

interface JoinedThread {
  readonly id: number
  readonly via: ChannelName
  /** The `thread_source` with which the thread began. It has to match as well, because the number of a deleted thread may be reused. */
  readonly key: string
}

/** The maximum number of turns of one thread within a period. With `automatedReplyMs`, each author has a quota of their own. */
export interface TurnQuota {
  readonly turns: number
  readonly withinMs: number
  /** The time after our last answer in which messages count, in ms, because no person answers that fast. Absent if all messages count. */
  readonly automatedReplyMs?: number | undefined
}

/** The sender to whom the bytes of a message are charged, and the limits on their stored bytes. */
export interface StorageQuota {
  /** Names the sender without their address. */
  readonly sender: string
  readonly isProven: boolean
  /** The maximum number of bytes of this sender. */
  readonly maxBytes?: number | undefined
  /** The maximum number of bytes of all unproven senders together. */
  readonly maxUnprovenBytes?: number | undefined
}

/** The maximum number of turns within a period for all messages of a channel that name the same key. */
export interface TurnBudget extends Omit<TurnQuota, 'automatedReplyMs'> {
  readonly key: string
  /** True if the key is valid only within the message's thread. */
  readonly isPerThread?: true | undefined
  readonly flag: string
}

export interface AdmitResult {
  /** The outcome. `forgotten` means that the message was handled before and has been deleted. */
  readonly outcome: 'accepted' | 'duplicate' | 'conflict' | 'forgotten'
  /** Our number of the stored message. It is the number of the first message for a duplicate, and 0 for a forgotten message. */
  readonly message: number
  readonly task?: TaskKey | undefined
}

export const speakingKinds: ReadonlySet<string> = new Set(['message', 'edit'])
