import type { Admitted, Blob, Intake, PlannedDelivery, TaskKey, TaskWatch } from './intake.ts'
import type { Json } from './json.ts'
import type { KeptFile } from './keep-files.ts'
import type { ChannelName, NormalizedMessage } from './message.ts'
import type { KeptNote, NotesRequest, TurnNote } from './note.ts'
import type { OverdueStore } from './overdue.ts'
import type { PeopleStore } from './people.ts'
import type { DeliveryRecord, MessageRecord, MessageSummary, Page, Refusal, StoreCounts } from './records.ts'
import type { RelationStore, WithdrawalStore } from './relation.ts'
import type { RequirementStore } from './requirement.ts'
import type { NormalizedResponse } from './response.ts'
import type { BackgroundEntry, Entry, HistoryRequest, TaskExpiry, TaskFilter, TaskRecord } from './transcript.ts'
import type {
  Answer,
  Broadcast,
  Delivery,
  DeliveryLeaseRequest,
  LeaseRequest,
  PlannedAction,
  Settlement,
  Turn,
} from './work.ts'

/** Doors write here before they answer a peer. */
export interface IntakeStore {
  /** One transaction: duplicate check, thread, transcript, raw bytes, proofs, turn and handshakes. Durable when it resolves. */
  admit(intake: Intake, correlationId: string): Promise<Admitted>
  /**
   * Counts what is about to be admitted together, before any of it is durable; absent where nothing is limited. `from`: the peer's
   * network address, empty when it is not known. @throws Rejection `rate_limited`
   */
  countIn?(intakes: readonly Intake[], from: string): void
  /** Remembers refused traffic, best effort and bounded; never throws. */
  refuse(refusal: Refusal): void
}

/**
 * Workers take work here and bring it back. Turns of one thread come in order, or as the `lane` of their messages says; so do
 * deliveries to one place in one thread. An edit of a message whose turn is open is no turn of its own: it changes the words of that
 * turn, and breaks it off if it runs, so that it is taken up again (`maxAborts` times; then it comes behind it). Whatever makes work ready notifies `work`; a committed turn notifies `message:<n>` with `{ kind: 'settled' }`, and
 * where it was of a task, with that as it is now (`task`), so that nobody need read it.
 */
export interface WorkStore {
  leaseTurns(request: LeaseRequest): Promise<readonly Turn[]>
  /** One transaction: the response in the transcript and every delivery it causes. @throws LeaseLost */
  commit(turn: Turn, answer: Answer): Promise<void>
  /** One transaction, as `commit`, but the turn goes on: its final answer takes the place of this one. @throws LeaseLost */
  say(turn: Turn, answer: Answer & { readonly response: NormalizedResponse }): Promise<void>
  /**
   * Keeps what is done in a turn that goes on, in its thread, in this order; durable when it resolves. No channel shows it, and no history. What
   * the turn has noted under the same name gives way. @throws LeaseLost
   */
  note(turn: Turn, notes: readonly TurnNote[]): Promise<void>
  /** Keeps what was heard of the answer to a turn whose task was canceled, beside its notes; nothing of any other turn. */
  keepStreamed(turn: Turn, note: TurnNote): Promise<void>
  /** Keeps what was said in the turn's thread before its message; what is known there already is passed over. @throws LeaseLost */
  addBackground(turn: Turn, entries: readonly BackgroundEntry[]): Promise<void>
  /** Files that the turn's message points to are part of it from now on. @throws LeaseLost */
  keepFiles(turn: Turn, files: readonly KeptFile[]): Promise<void>
  /** Whether something in the turn's thread is known by this id. */
  knows(turn: Turn, id: string): Promise<boolean>
  /** What an agent does without being asked, in one transaction. */
  act(acts: readonly PlannedAction[], correlationId: string): Promise<void>
  /** Gives a turn back, to be taken up at `dueAt` (ms). An attempt given back by a shutdown does not count. */
  release(
    turn: Turn,
    again: { readonly dueAt: number; readonly error?: string; readonly uncounted?: boolean },
  ): Promise<void>
  leaseDeliveries(request: DeliveryLeaseRequest): Promise<readonly Delivery[]>
  /** Broadcasts that are not yet spread to their end. */
  leaseBroadcasts(request: LeaseRequest): Promise<readonly Broadcast[]>
  /**
   * Queues deliveries of a broadcast and moves it on past the peer at place `after`, in one transaction; `isDone` ends it. A place
   * that has a delivery of this broadcast gets no second one.
   */
  expand(
    broadcast: Broadcast,
    deliveries: readonly PlannedDelivery[],
    progress: { readonly after: number; readonly isDone: boolean },
  ): Promise<void>
  /** @throws LeaseLost */
  settle(delivery: Delivery, settlement: Settlement): Promise<void>
  /** A turn that waits for another agent takes none of its agent's share, whoever leases; a hint, forgotten with the lease. */
  noteWaiting(turn: Turn, isWaiting: boolean): Promise<void>
  /** Makes a lease last `leaseMs` from now. @throws LeaseLost */
  renew(work: Turn | Delivery, leaseMs: number): Promise<void>
  /** When the earliest turn or delivery that nobody holds falls due, ms; undefined when there is none. */
  nextDue(): Promise<number | undefined>
}

/** A response of ours, and what it answered. */
export interface FoundResponse {
  readonly response: NormalizedResponse
  readonly message: NormalizedMessage
  /** The message's. */
  readonly target: Json
  readonly rendering: Json | undefined
  readonly agent: string
  readonly via: ChannelName
  /** ISO 8601 UTC: when it was last edited. */
  readonly editedAt?: string | undefined
  /** ISO 8601 UTC: it was taken back; its parts are gone. */
  readonly retractedAt?: string | undefined
}

export interface FoundMessage {
  readonly message: number
  readonly via: ChannelName
  readonly target: Json
}

/** What somebody else said, in the words of its latest edit. */
export interface CurrentMessage {
  readonly message: NormalizedMessage
  readonly target: Json
  /** Id of the agent's response to it, where everybody may read that. */
  readonly response?: string | undefined
}

/** The place of a response in its conversation. */
export interface ResponseContext {
  /** What it answers; absent where its author took it back, and for a post of the agent's own. */
  readonly answered?: CurrentMessage | undefined
  /** What answers it, oldest first. */
  readonly replies: readonly CurrentMessage[]
}

export interface LookupStore {
  /** Of an answer that an agent gave to some only (`visibility`), in a thread for everybody, that it was given and not its words. */
  readHistory(request: HistoryRequest): Promise<readonly Entry[]>
  /** What was noted in turns of a thread, oldest first; nothing of turns whose answer was for some only, in a thread for everybody. */
  readNotes(request: NotesRequest): Promise<readonly KeptNote[]>
  readState(agent: string, thread: number): Promise<Json | undefined>
  findBlob(digest: string): Promise<Blob | undefined>
  /** The stored secret of this name, made and made durable first if there is none. */
  secret(name: string, make: () => Promise<string>): Promise<string>
  /** Whether a secret of this name is stored; none is made. */
  hasSecret(name: string): Promise<boolean>
  /** A response of ours by its id, with what it answered (an object route, a task). */
  findResponse(id: string): Promise<FoundResponse | undefined>
  /**
   * What stands before and behind a response. A reply names one of `names` in `in_reply_to`; it is sought among the 500 messages that follow in
   * the thread. No reply is listed that its author took back, or that was kept from the agent.
   */
  readResponseContext(
    id: string,
    filter: { readonly names: readonly string[]; readonly limit: number },
  ): Promise<ResponseContext>
  /** What a turn has said meanwhile, when it is taken up once more. */
  findAnswer(message: number): Promise<FoundResponse | undefined>
  /** A message to an agent, by one of the ids it is known by; the newest of several. */
  findMessageTo(agent: string, id: string): Promise<FoundMessage | undefined>
  /** Responses of an agent that left by a channel, newest first; with `isListed` only those everybody may read. */
  listResponses(filter: {
    readonly agent: string
    readonly via: ChannelName
    readonly isListed?: true
    readonly limit: number
    readonly after?: number
  }): Promise<readonly (FoundResponse & { readonly place: number })[]>
  /** How many responses of an agent, by a channel, everybody may read. */
  countListed(filter: { readonly agent: string; readonly via: ChannelName }): Promise<number>
}

/** Owner and id together are the key: another owner's task does not exist. */
export interface TaskStore {
  findTask(key: TaskKey): Promise<TaskRecord | undefined>
  listTasks(filter: TaskFilter): Promise<{ readonly tasks: readonly TaskRecord[]; readonly total: number }>
  /** Compare-and-set to `canceled`: true if it was open. A later commit for it is refused with `LeaseLost`. */
  cancelTask(key: TaskKey): Promise<boolean>
  /**
   * Takes tasks out in which nothing happens any more, with all that was said in them; the oldest first, `limit` at most. Those somebody works
   * on or is still to be told of stay. `isDone`: there are no more.
   */
  expireTasks(expiry: TaskExpiry): Promise<{ readonly removed: number; readonly isDone: boolean }>
  /** Adds a watch, or replaces the one of its id. `full`: `maxWatches` others watch already. */
  watchTask(key: TaskKey, watch: TaskWatch): Promise<'watching' | 'full' | 'unknown'>
  /** In the order of their ids; none for a task that does not exist. */
  listWatches(key: TaskKey): Promise<readonly TaskWatch[]>
  /** Nothing more is queued for it. */
  endWatch(key: TaskKey, id: string): Promise<void>
}

/** What may be used once: a proof, a challenge. */
export interface OnceStore {
  /**
   * Uses a key up until `until` (ms): true the first time, false for everybody else till then, in this process or another.
   * Durable when it resolves. A key names who made it (`dpop …`); how many one peer may use up is for the caller to bound.
   */
  consumeOnce(key: string, until: number): Promise<boolean>
}

export interface OperatorStore {
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
  /** A dead letter needs nothing more: it stays on record and leaves the count of the dead. False when the delivery is not dead. */
  dismissDelivery(id: string): Promise<boolean>
  listRefusals(page: Page): Promise<readonly (Refusal & { readonly place: number })[]>
  count(): Promise<StoreCounts>
}

/** Hints between those who wait and those who work. A hint may be lost; the truth is in the store. */
export interface NoticeStore {
  /**
   * Topics: `work`; `message:<n>` with `{ kind: 'part', chunk }`, what is done meanwhile (`'note'`, `'stage'`), `{ kind: 'settled' }`, or what
   * broke its turn off: `{ kind: 'canceled' }`, `'deleted'`, `'interrupted'`, `'edited'`.
   */
  notify(topic: string, payload: unknown): void
  /** Returns the function that ends listening. */
  listen(topic: string, listener: (payload: unknown) => void): () => void
}

/** Everything remembered. */
export interface Store
  extends IntakeStore,
    WorkStore,
    LookupStore,
    TaskStore,
    RelationStore,
    WithdrawalStore,
    RequirementStore,
    OverdueStore,
    OnceStore,
    PeopleStore,
    OperatorStore,
    NoticeStore {
  close(): Promise<void>
}
