import type { Json } from '../format/notations.ts'
import type { ChannelName } from '../message/message.ts'
import type { IntakeStore } from './intake-store.ts'
import type { LookupStore } from './lookup-store.ts'
import type { NoticeStore } from './notice-store.ts'
import type { PeopleStore } from './people-store.ts'
import type { DeliveryPage, ListPeriod, ListWindow, MessagePage, Page, RefusalPage } from './records/page.ts'
import type { RelationKind } from './records/planned-delivery.ts'
import type { DeliveryRecord, MessageRecord, MessageSummary, Refusal, StoreCounts } from './records/records.ts'
import type { Authorship, Decision, KnownMessage, Relation, RelationKey, Withdrawal } from './records/relation.ts'
import type { TaskExpiry, TaskFilter, TaskKey, TaskRecord, TaskWatch } from './records/task.ts'
import type { WhyRecord } from './records/why-record.ts'
import type { Turn } from './records/work.ts'
import type { OverdueStore, RequirementStore } from './requirement-store.ts'
import type { EntryChange, ProofKey, TurnAttempt } from './trace/trace.ts'
import type { WorkStore } from './work-store.ts'

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
    ReplayStore,
    TraceStore,
    NoticeStore,
    WhyStore {
  close(): Promise<void>
}

/** What may be used once: a proof, a challenge. */
export interface OnceStore {
  /**
   * Uses a key up until `until` (ms): true the first time, false for everybody else till then, in this process or another.
   * Durable when it resolves. A key names who made it (`dpop …`); how many one peer may use up is for the caller to bound.
   */
  consumeOnce(key: string, until: number): Promise<boolean>
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

/** Where the record of a message is looked up, beside the operator's lists. */
export interface TraceStore {
  /** With its attempts. */
  findDelivery(id: string): Promise<DeliveryRecord | undefined>
  /**
   * Keeps how an attempt went that was broken off, or whose lease was lost, beside its turn; nothing of a message that was taken back. Never
   * waits for the disk.
   */
  noteAttempt(turn: Pick<Turn, 'message'>, attempt: TurnAttempt): Promise<void>
  /** A public key as it was when it proved a message; undefined when it is kept no more. */
  findProofKey(digest: string): Promise<ProofKey | undefined>
  /** The turn of a message as a worker would take it up, for a look at what its agent is given; undefined when there is none. */
  readTurn(message: number): Promise<Turn | undefined>
  /** Which of these entries are no longer what they were when they came. */
  listChanges(seqs: readonly number[]): Promise<readonly EntryChange[]>
}

/** What an operator may mean by an id, a number or an address. */
export interface WhyWords {
  /** An id of a peer or of ours, in each way it may be written; most likely first. */
  readonly ids: readonly string[]
  /** Our number of a message. */
  readonly message?: number | undefined
  readonly delivery?: number | undefined
  /** Place of a refusal. */
  readonly refusal?: number | undefined
  /** The name of an agent. */
  readonly agent?: string | undefined
  /** `@name@domain` of a sender. */
  readonly sender?: string | undefined
}

/** Where to look for the reason. */
export interface WhySubject {
  /** The words that found it. */
  readonly by: 'id' | 'message' | 'delivery' | 'address'
  /** Numbers of messages; by an id the first is the most trusted one, by an address the newest. */
  readonly messages: readonly number[]
}

export interface WhyStore {
  /**
   * The messages that the words name: the ids first, then the numbers, then the addresses. Undefined when nothing is known of them.
   * Reads a bounded number of rows: addresses and ids that have no index are looked for among the newest 10,000 entries.
   */
  findWhySubject(words: WhyWords): Promise<WhySubject | undefined>
  /** In this order, without those that are not there. A constant number of statements, however many they are; at most 500. */
  listWhyRecords(numbers: readonly number[]): Promise<readonly WhyRecord[]>
  /** What was refused of a peer's id, or of an address; newest first, at most 10. */
  listWhyRefusals(words: WhyWords): Promise<readonly Refusal[]>
  /** A gateway begins, goes on or ends its work: by the gaps one tells when none ran. */
  noteGatewayRun(holder: string, stage: 'begins' | 'runs' | 'ends'): Promise<void>
}

/** Lists of which one page looks at a bounded number of rows, each with the number of rows. */
export const windowedLists = { messages: 2_000, texts: 500, deliveries: 10_000, dead: 2_000 } as const

/** Open deliveries to one host, or to the mailboxes of one domain. Instants: ms. */
export interface WaitingHost {
  readonly host: string
  readonly deliveries: number
  /** Those of them with a failed attempt. */
  readonly failing: number
  readonly oldestAt: number
  /** Absent while all of them are being tried. */
  readonly nextAt?: number | undefined
}

export interface MessageTiming {
  readonly channel: ChannelName
  /** ms */
  readonly at: number
  /** Absent while it goes on. */
  readonly tookMs?: number | undefined
}

export interface OperatorStore {
  /** Newest first. Of messages of more than 32 KiB the text is not looked at. */
  listMessages(page: MessagePage): Promise<readonly MessageSummary[]>
  /** What the next page of a list looks at; finding it costs no more than the rows of the page. */
  findListWindow(list: keyof typeof windowedLists, page: Pick<Page, 'after'> & ListPeriod): Promise<ListWindow>
  /**
   * By the peer's id or by our number (`#12`). Ids are the peers' claims: of several messages of one id the first of a verified
   * sender is shown, else the first, so that nobody can hide it behind another one.
   */
  findMessage(id: string): Promise<MessageRecord | undefined>
  /** Newest first. */
  listDeliveries(page: DeliveryPage): Promise<readonly DeliveryRecord[]>
  /** Hosts that open deliveries go to, those with the most first. */
  listWaitingHosts(limit: number): Promise<readonly WaitingHost[]>
  /** Newest first: when messages came since an instant (ISO 8601 UTC), and how long each took until its turn was over. `isWhole`: none of them is left out. */
  listTimings(page: {
    readonly since: string
    readonly limit: number
  }): Promise<{ readonly timings: readonly MessageTiming[]; readonly isWhole: boolean }>
  /** A dead or waiting delivery is tried at once. False when there is none with this id, or it is sent. */
  retryDelivery(id: string): Promise<boolean>
  /** An undelivered delivery is given up. */
  dropDelivery(id: string): Promise<boolean>
  /** A dead letter needs nothing more: it stays on record and leaves the count of the dead. False when the delivery is not dead. */
  dismissDelivery(id: string): Promise<boolean>
  /** Newest first; there are no more than 10,000. */
  listRefusals(page: RefusalPage): Promise<readonly (Refusal & { readonly place: number })[]>
  count(): Promise<StoreCounts>
}

/** What a document or a name said when somebody looked it up. */
export interface Lookup {
  /** What was asked for: `GET <accept> <url>`, `DNS <type> <name>`. */
  readonly key: string
  /** When the answer came, ms since 1970-01-01 UTC. */
  readonly at: number
  /** The answer, or how there was none; a replay reads it again. */
  readonly answer: Json
  /** The principal whose document it is, where it is a person's: it goes with them. */
  readonly owner?: string | undefined
  /** Id of the post that the answer shows: it goes when its owner takes the post back. */
  readonly object?: string | undefined
}

/** A stored message with what its channel takes to read it again. */
export interface StoredArrival {
  readonly number: number
  /** What came beside the bytes; undefined where nothing was kept. */
  readonly arrival: Json | undefined
  /** Undefined once the message was forgotten. */
  readonly raw: Uint8Array | undefined
  readonly target: Json
  /** Earlier messages that were answered together with it. */
  readonly merged: readonly number[]
}

/** What it takes to run a stored message again as it was then. */
export interface ReplayStore {
  /** Remembers what was looked up, best effort and bounded; never throws. What says the same as the last time is not written again. */
  noteLookup(lookup: Lookup): void
  /** The last answer to a question until `at` (ms); undefined when there was none, or it is kept no more. */
  findLookup(key: string, at: number): Promise<Json | undefined>
  findArrival(message: number): Promise<StoredArrival | undefined>
}

/** Those of one agent by one channel; or else all. */
type RelationFilter =
  | { readonly via: ChannelName; readonly agent: string; readonly relation: RelationKind }
  | { readonly via?: undefined; readonly agent?: undefined }

export interface RelationStore {
  findRelation(key: RelationKey): Promise<Relation | undefined>
  /** Oldest first. Without `agent` and `via` all there are, of every kind. */
  listRelations(filter: RelationFilter & Page): Promise<readonly Relation[]>
  countRelations(filter: Omit<RelationKey, 'peer'>): Promise<number>
  /** What the operator decides about a kept message, in one transaction, as if it had come with the message. */
  decide(message: number, decision: Decision): Promise<void>
}

export interface WithdrawalStore {
  /**
   * The content of what is taken back is gone when this resolves (entries, raw, bytes that nothing else refers to); its ids
   * stay, so that a duplicate is still one. Open turns fail with `canceled`, deliveries not yet sent die.
   */
  withdraw(via: ChannelName, withdrawals: readonly Withdrawal[]): Promise<void>
  /** Every message of this authorship that is not taken back, one or more per agent, oldest first. */
  findAuthored(via: ChannelName, authorship: Authorship): Promise<readonly KnownMessage[]>
}
