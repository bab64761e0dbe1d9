import type { Json } from './json.ts'
import type { ChannelName, NormalizedMessage } from './message.ts'
import type { Part } from './part.ts'
import type { Authorship, RelationDesk, RelationEffect, WithdrawalDesk } from './relation.ts'
import type { NormalizedResponse, ResponseStatus } from './response.ts'

/** One check of a transport's own proof and how it came out; what the operator sees. */
export interface Proof {
  /** `http-signature`, `digest`, `jwt`, `dkim`, `spf`, `dmarc`, … */
  readonly kind: string
  readonly verdict:
    | 'pass'
    | 'fail'
    | 'none'
    | 'neutral'
    | 'softfail'
    | 'policy'
    | 'temperror'
    | 'permerror'
    | 'unverifiable'
  readonly reason?: string | undefined
  readonly key_id?: string | undefined
  readonly [detail: string]: Json | undefined
}

/** Bytes kept once by their SHA-256 (lower-case hex). */
export interface Blob {
  readonly digest: string
  readonly bytes: Uint8Array
  readonly mime?: string | undefined
}

/** Something that leaves by a channel. `target` is the channel's own business: what it needs to render and deliver. */
export interface PlannedDelivery {
  /** Shown to the operator: an inbox address, a mailbox, a task id. */
  readonly to: string
  readonly target: Json
  /** Whom it is meant for, by principal, where that is one: who has blocked the agent or is gone gets nothing more. */
  readonly peer?: string | undefined
  /** True when the peer fetches the answer itself (an A2A call): committed means sent. */
  readonly pulled?: boolean | undefined
}

/** The unit of work a peer may ask about later (an A2A task). `owner` is the verified principal and part of the key. */
export interface TaskKey {
  readonly owner: string
  readonly id: string
}

/** Everything a door has proven and understood about one message to one agent, ready to be made durable. */
export interface Intake {
  /** The local agent's name. */
  readonly agent: string
  /** Without `raw` (kept as bytes below) and `history` (built when the agent is called). */
  readonly message: Omit<NormalizedMessage, 'raw' | 'history'>
  /** Same key, same message: answered like the first time, handled once. Unique per channel and agent. */
  readonly duplicateKey: string
  /** Where given, the same key with another fingerprint is a conflict instead of a duplicate. */
  readonly fingerprint?: string | undefined
  readonly thread: {
    /** Threads of different scopes never meet, whatever id a peer claims: `public`, or who may read it. */
    readonly scope: string
    /** Ids of earlier messages; the first one known in this scope decides the thread, else `message.thread_id`. */
    readonly references: readonly string[]
  }
  /** Further ids this message is known by (an object IRI beside its activity IRI). */
  readonly aliases: readonly string[]
  readonly proofs: readonly Proof[]
  /** What arrived, without credentials. */
  readonly raw: { readonly bytes: Uint8Array; readonly form: 'json' | 'text' }
  readonly blobs?: readonly Blob[]
  /** What the channel needs to answer; its own business. */
  readonly target: Json
  /** `answer`: the agent gets a turn. `keep`: stored and shown to the operator, never given to the agent. */
  readonly disposition: 'answer' | 'keep'
  /** Why it is kept, or what is odd about it. */
  readonly flags?: readonly string[]
  readonly task?: (TaskKey & { readonly context: string }) | undefined
  /** Handshakes that go out with the acceptance itself (an `Accept` of a `Follow`). */
  readonly deliveries?: readonly PlannedDelivery[]
  /** Of words that their author may change or take back. Who is `blocked_by` is recognised by it: kept, flag `blocked_by`. */
  readonly authorship?: Authorship | undefined
  readonly effects?: readonly RelationEffect[]
  /** For senders that are machines: what exceeds it in this thread is kept, flag `loop_guard`. Not for tasks. */
  readonly quota?: TurnQuota | undefined
}

/** At most so many turns of one thread in a time. */
export interface TurnQuota {
  readonly turns: number
  readonly withinMs: number
}

export interface Admitted {
  readonly outcome: 'accepted' | 'duplicate' | 'conflict'
  /** Our number for the stored message; of the first one when this is a duplicate. */
  readonly message: number
  readonly task?: TaskKey | undefined
}

export interface LeaseRequest {
  /** Who works: one name per process. */
  readonly holder: string
  readonly limit: number
  /** Milliseconds the lease lasts from now. */
  readonly leaseMs: number
  /** Agents (for turns) or destination hosts (for deliveries) that have as much running as they may: theirs is left alone. */
  readonly busy?: readonly string[] | undefined
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
}

/** What became of a turn. No `response`: the agent chose to say nothing. */
export interface Answer {
  readonly response?: NormalizedResponse | undefined
  /** Ids under which the answer is known on the wire; replies that name them come back to this thread. */
  readonly aliases?: readonly string[]
  /** Everybody may read it: counted and listed among what the agent has published. */
  readonly isListed?: boolean | undefined
  readonly deliveries: readonly PlannedDelivery[]
  /** The agent's new state for this thread; left out when unchanged. */
  readonly state?: Json | undefined
  /** For the operator, when the agent failed. */
  readonly error?: string | undefined
}

/** One delivery, leased. */
export interface Delivery {
  readonly id: string
  readonly token: number
  /** 1 for the first try. */
  readonly attempt: number
  /** When it was queued, ms. */
  readonly queuedAt: number
  readonly via: ChannelName
  readonly agent: string
  readonly to: string
  readonly target: Json
  readonly correlationId: string
  /** What is answered (without `history`), and the answer; both absent for a handshake without a turn. */
  readonly message: NormalizedMessage
  readonly response?: NormalizedResponse | undefined
}

/** How a try to deliver ended. `wire` is the document that was sent, for the operator. */
export type Settlement =
  | { readonly state: 'sent'; readonly wire?: Json | undefined; readonly note?: string | undefined }
  | { readonly state: 'later'; readonly dueAt: number; readonly error: string; readonly wire?: Json | undefined }
  | { readonly state: 'dead'; readonly error: string; readonly wire?: Json | undefined }

/** One line of the transcript: what was said in a thread, by whom, in order. */
export interface Entry {
  readonly seq: number
  readonly entryId: string
  /** The id the writer gave: activity IRI, Message-ID, messageId. */
  readonly nativeId?: string | undefined
  readonly role: 'user' | 'assistant'
  readonly author: { readonly address: string; readonly display_name?: string | undefined }
  readonly parts: readonly Part[]
  /** ISO 8601 UTC. */
  readonly at: string
}

/**
 * Which ends of a thread to read: its first `head` entries and its last `tail`, without repeats, in the order of the
 * conversation: every answer follows the message it answers, even if the next message was already waiting when it was given.
 */
export interface HistoryRequest {
  readonly thread: number
  /** Only messages that came before this one, and their answers. */
  readonly before: number
  readonly head: number
  readonly tail: number
}

export type TaskState = 'submitted' | ResponseStatus | 'canceled'

export interface TaskRecord extends TaskKey {
  readonly agent: string
  readonly context: string
  readonly state: TaskState
  /** ms */
  readonly updatedAt: number
  /** Everything said in this task, oldest first. */
  readonly entries: readonly Entry[]
  /** The last answer, whole. */
  readonly response?: NormalizedResponse | undefined
}

export interface TaskFilter {
  readonly owner: string
  readonly agent?: string | undefined
  readonly context?: string | undefined
  readonly state?: TaskState | undefined
  /** Only tasks whose state changed at or after this time, ms. */
  readonly updatedSince?: number | undefined
  readonly limit: number
  /** Continue after this place (newest first). */
  readonly after?: { readonly updatedAt: number; readonly id: string } | undefined
}

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
}

export interface DeliveryRecord {
  readonly id: string
  readonly via: ChannelName
  readonly to: string
  readonly state: 'queued' | 'sent' | 'later' | 'dead'
  readonly attempts: number
  readonly last_error?: string | undefined
  readonly next_attempt_at?: string | undefined
  readonly message_id: string
  readonly wire: Json
}

/** The operator's whole view of one message (`interface.md`, operator API). */
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
  /** Numbers of further messages that claim the same id. */
  readonly namesakes?: readonly number[] | undefined
}

/** Traffic we did not take. Never a secret, never a body. */
export interface Refusal {
  /** ISO 8601 UTC. */
  readonly at: string
  readonly via: ChannelName
  /** The peer's network address or host name. */
  readonly from: string
  readonly code: string
  readonly reason: string
}

export interface Page {
  readonly limit: number
  /** The last place of the page before. */
  readonly after?: number | undefined
}

export interface DeskCounts {
  readonly messages: Readonly<Record<MessageState, number>>
  readonly deliveries: Readonly<Record<DeliveryRecord['state'], number>>
  readonly refusals: number
}

/** Doors write here before they answer a peer. */
export interface IntakeDesk {
  /** One transaction: duplicate check, thread, transcript, raw bytes, proofs, turn and handshakes. Durable when it resolves. */
  admit(intake: Intake, correlationId: string): Promise<Admitted>
  /** Remembers refused traffic, best effort and bounded; never throws. */
  refuse(refusal: Refusal): void
}

/**
 * Workers take work here and bring it back. Turns of one thread come in order; so do deliveries to one place in one
 * thread. Whatever makes work ready notifies `work`; a committed turn notifies `message:<n>` with `{ kind: 'settled' }`.
 */
export interface WorkDesk {
  leaseTurns(request: LeaseRequest): Promise<readonly Turn[]>
  /** One transaction: the response in the transcript and every delivery it causes. @throws LeaseLost */
  commit(turn: Turn, answer: Answer): Promise<void>
  /** Gives a turn back, to be taken up at `dueAt` (ms). An attempt given back by a shutdown does not count. */
  release(
    turn: Turn,
    again: { readonly dueAt: number; readonly error?: string; readonly uncounted?: boolean },
  ): Promise<void>
  leaseDeliveries(request: LeaseRequest): Promise<readonly Delivery[]>
  /** @throws LeaseLost */
  settle(delivery: Delivery, settlement: Settlement): Promise<void>
  /** Makes a lease last `leaseMs` from now. @throws LeaseLost */
  renew(work: Turn | Delivery, leaseMs: number): Promise<void>
  /** When the earliest turn or delivery that nobody holds falls due, ms; undefined when there is none. */
  nextDue(): Promise<number | undefined>
}

export interface LookupDesk {
  readHistory(request: HistoryRequest): Promise<readonly Entry[]>
  readState(agent: string, thread: number): Promise<Json | undefined>
  findBlob(digest: string): Promise<Blob | undefined>
  /** The stored secret of this name, made and made durable first if there is none. */
  secret(name: string, make: () => Promise<string>): Promise<string>
  /** A response of ours by its id, with what it answered (an object route, a task). */
  findResponse(id: string): Promise<
    | {
        readonly response: NormalizedResponse
        readonly message: NormalizedMessage
        readonly target: Json
        readonly agent: string
      }
    | undefined
  >
  /** Responses of an agent that left by a channel, newest first; with `isListed` only those everybody may read. */
  listResponses(filter: {
    readonly agent: string
    readonly via: ChannelName
    readonly isListed?: true
    readonly limit: number
    readonly after?: number
  }): Promise<
    readonly {
      readonly place: number
      readonly response: NormalizedResponse
      readonly message: NormalizedMessage
      readonly target: Json
    }[]
  >
  /** How many responses of an agent, by a channel, everybody may read. */
  countListed(filter: { readonly agent: string; readonly via: ChannelName }): Promise<number>
}

/** Owner and id together are the key: another owner's task does not exist. */
export interface TaskDesk {
  findTask(key: TaskKey): Promise<TaskRecord | undefined>
  listTasks(filter: TaskFilter): Promise<{ readonly tasks: readonly TaskRecord[]; readonly total: number }>
  /** Compare-and-set to `canceled`: true if it was open. A later commit for it is refused with `LeaseLost`. */
  cancelTask(key: TaskKey): Promise<boolean>
}

export interface OperatorDesk {
  listMessages(page: Page): Promise<readonly MessageSummary[]>
  /**
   * By the peer's id or by our number (`#12`). Ids are the peers' claims: of several messages of one id the first of a verified
   * sender is shown, else the first, so that nobody can hide it behind another one.
   */
  findMessage(id: string): Promise<MessageRecord | undefined>
  listDeliveries(
    filter: Page & { readonly state?: DeliveryRecord['state'] | undefined },
  ): Promise<readonly DeliveryRecord[]>
  /** A dead or waiting delivery is tried at once. False when there is none with this id, or it is sent. */
  retryDelivery(id: string): Promise<boolean>
  /** An undelivered delivery is given up. */
  dropDelivery(id: string): Promise<boolean>
  listRefusals(page: Page): Promise<readonly (Refusal & { readonly place: number })[]>
  count(): Promise<DeskCounts>
}

/** Hints between those who wait and those who work. A hint may be lost; the truth is in the desk. */
export interface NoticeDesk {
  /** Topics: `work`; `message:<n>` with `{ kind: 'part', chunk }`, `{ kind: 'settled' }` or `{ kind: 'canceled' }`. */
  notify(topic: string, payload: unknown): void
  /** Returns the function that ends listening. */
  listen(topic: string, listener: (payload: unknown) => void): () => void
}

/** Everything remembered. */
export interface Desk
  extends IntakeDesk,
    WorkDesk,
    LookupDesk,
    TaskDesk,
    RelationDesk,
    WithdrawalDesk,
    OperatorDesk,
    NoticeDesk {
  close(): Promise<void>
}
