import type { Json } from '../../format/notations.ts'
import type { LoopLimits } from '../../message/loop-limits.ts'
import type { ChannelName, NormalizedMessage } from '../../message/message.ts'
import type { Proof } from '../../message/proof.ts'
import type { IntakeTrace, ProofKey } from '../trace/trace.ts'
import type { Blob, PlannedDelivery } from './planned-delivery.ts'
import type { Authorship, RelationEffect } from './relation.ts'
import type { RequirementDecision } from './requirement-record.ts'
import type { TaskIntake, TaskKey } from './task.ts'

/** A message to one agent with everything that a channel has proven and read, ready to be made durable. */
export interface Intake {
  /** The local agent's name. */
  readonly agent: string
  /** Without `raw` (kept as bytes below) and `history` (built when the agent is called). */
  readonly message: Omit<NormalizedMessage, 'raw' | 'history'>
  /** Same key, same message: answered like the first time, handled once. Unique per channel and agent. */
  readonly duplicateKey: string
  /** With it, the same key with another fingerprint is a conflict instead of a duplicate. */
  readonly fingerprint?: string | undefined
  readonly thread: {
    /** Threads of different scopes never meet, whatever id a peer claims: `public`, or who may read it. */
    readonly scope: string
    /** Ids of earlier messages; the first one known in this scope decides the thread, else `message.thread_id`. */
    readonly references: readonly string[]
    /** Where others take part, too: the principal of who begins it by this message. */
    readonly begunBy?: string | undefined
    /** It is part of a conversation of another channel: our number of it. The answer leaves by that channel, and `target` is its. */
    readonly joined?: JoinedThread | undefined
  }
  /** Further ids this message is known by (an object IRI beside its activity IRI). */
  readonly aliases: readonly string[]
  readonly proofs: readonly Proof[]
  /** When its peer claims to have sent it, ms; for the operator. Not a number: it does not say. */
  readonly sentAt?: number | undefined
  /** How it came in; for the operator. */
  readonly trace?: IntakeTrace | undefined
  /** Public keys that the steps of `trace` name by digest. */
  readonly proofKeys?: readonly ProofKey[] | undefined
  /** What came beside the bytes, without credentials: with it the channel reads them again (`Channel.replay`). */
  readonly arrival?: Json | undefined
  /** What arrived, without credentials. */
  readonly raw: { readonly bytes: Uint8Array; readonly form: 'json' | 'text' }
  readonly blobs?: readonly Blob[]
  /** The data that the channel needs to answer; opaque to others. */
  readonly target: Json
  /** `answer`: the agent gets a turn. `keep`: stored and shown to the operator, never given to the agent. */
  readonly disposition: 'answer' | 'keep'
  /** Why it is kept, or what is odd about it. */
  readonly flags?: readonly string[]
  readonly task?: TaskIntake | undefined
  /** Handshakes that go out with the acceptance itself (an `Accept` of a `Follow`). */
  readonly deliveries?: readonly PlannedDelivery[]
  /** Of words that their author may change or take back. Who is `blocked_by` is recognised by it: kept, flag `blocked_by`. */
  readonly authorship?: Authorship | undefined
  readonly effects?: readonly RelationEffect[]
  /** The requirement it decides: used up with its admission, or the message is refused. */
  readonly resolution?: RequirementDecision | undefined
  /** For senders that are machines: what exceeds it in this thread is kept, flag `loop_guard`. Not for tasks. */
  readonly quota?: TurnQuota | undefined
  /** All of them have room, or the message is kept with the flag of the first that has none. Not for tasks. */
  readonly budgets?: readonly TurnBudget[] | undefined
  /** What would go round in a circle is kept, flag `loop_guard`. Not for tasks. */
  readonly loop?: LoopLimits | undefined
  /** How it waits in the line of its thread; default: in its order. */
  readonly lane?: QueueMode | undefined
  /** Who reads an answer to it, where a thread holds messages to different circles: they are never answered together. */
  readonly audience?: string | undefined
}

interface JoinedThread {
  readonly id: number
  readonly via: ChannelName
  /** Its own thread id: a number may be given again. */
  readonly key: string
}

/** At most so many turns of one thread in a time. */
export interface TurnQuota {
  readonly turns: number
  readonly withinMs: number
  /** Where given, only what comes within this time after our last answer in the thread counts, ms: no person reads that fast. */
  readonly swiftMs?: number | undefined
}

/** At most so many turns in a time of all messages of a channel that name the same key. */
export interface TurnBudget extends Omit<TurnQuota, 'swiftMs'> {
  readonly key: string
  /** The key means something within the message's thread only. */
  readonly isPerThread?: true | undefined
  readonly flag: string
}

export interface Admitted {
  readonly outcome: 'accepted' | 'duplicate' | 'conflict'
  /** Our number for the stored message; of the first one when this is a duplicate. */
  readonly message: number
  readonly task?: TaskKey | undefined
}

/**
 * The handling of messages that come while a turn of their thread runs or waits. `queue`: each has its turn, in order.
 * `merge`: waiting messages of one sender become one turn. `interrupt`: a sender's newest message ends the turns of
 * their earlier ones.
 */
export const queueModes = ['queue', 'merge', 'interrupt'] as const

export type QueueModeName = (typeof queueModes)[number]

/** How a message waits in the line of its thread; absent: in its order. */
export interface QueueMode {
  readonly mode: Exclude<QueueModeName, 'queue'>
  /** How long its turn waits for more of the same sender, ms. */
  readonly windowMs?: number | undefined
}

/** A turn answers so many messages at most, and so many bytes of parts; the next turn has the rest. */
export const mergeBounds = { messages: 50, bytes: 256 * 1024 } as const

/**
 * How many runs in a row may be broken off by newer messages or other words before one is left to finish: a flood of them
 * must not run an agent without end.
 */
export const maxAborts = 5

export const speakingKinds: ReadonlySet<string> = new Set(['message', 'edit'])
