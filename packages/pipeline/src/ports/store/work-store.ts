// Declares the queue of turns, deliveries and broadcasts, from the lease to the result.
import type { NormalizedResponse, TurnAttempt } from '@postern/message'
import type { TurnNote } from '../records/note.ts'
import type { LinkedFile, PlannedDelivery } from '../records/planned-delivery.ts'
import type { BackgroundEntry } from '../records/transcript.ts'
import type { Answer, PlannedAction } from '../records/work/answer.ts'
import type { Broadcast, Delivery } from '../records/work/delivery.ts'
import type { DeliveryLeaseRequest, LeaseRequest } from '../records/work/lease-request.ts'
import type { Settlement } from '../records/work/settlement.ts'
import type { Turn } from '../records/work/turn.ts'

/** The port for the results that end work. */
export interface ResultStore {
  /**
   * Commits the result of a turn in one transaction: the response in the transcript and every delivery that it causes.
   * @throws LeaseLost; StateChanged, and writes nothing, if the person's state has changed since the new state was computed from it
   */
  commit(turn: Turn, answer: Answer): Promise<void>
  /** Stores the streamed part of the answer of a turn whose task was canceled, beside its notes. It stores nothing for any other turn. */
  storeStreamedAnswer(turn: Turn, note: TurnNote): Promise<void>
  /** Releases a turn, so that it is due again at `dueAt` (ms). With `uncounted`, as at a shutdown, the attempt does not count. */
  release(
    turn: Turn,
    options: {
      readonly dueAt: number
      readonly error?: string
      readonly isUncounted?: boolean
      /** The record of the attempt, for the operator. */
      readonly attempt?: TurnAttempt | undefined
    },
  ): Promise<void>
  /** Stores the outcome of an attempt at a delivery. @throws LeaseLost */
  settle(delivery: Delivery, settlement: Settlement): Promise<void>
  /**
   * Queues deliveries of a broadcast and advances it past the peer with the number `after`, in one transaction; `isDone` ends it. A destination
   * that already has a delivery of this broadcast gets no second one.
   */
  expand(
    broadcast: Broadcast,
    deliveries: readonly PlannedDelivery[],
    progress: { readonly after: number; readonly isDone: boolean },
  ): Promise<void>
}

/**
 * A worker in the process of the store. The store calls it within transactions, so that its slots are counted when work is leased. A slot is
 * reserved for a `Ticket`.
 */
export interface WorkConsumer<Work extends Ticket, Ticket> extends Pick<LeaseRequest, 'holder' | 'leaseMs'> {
  /** Returns true if this work may begin now. Returns false also if it would overtake work that waits for a slot. */
  hasCapacity(ticket: Ticket): boolean
  /**
   * Returns the current limits of a poll, because the worker may have begun other work since it asked. `isConcurrent` is true if other
   * transactions may lease work for this worker before `endPoll`.
   */
  beginPoll(isConcurrent: boolean): Required<Pick<LeaseRequest, 'limit' | 'shares'>>
  endPoll(end: PollEnd): void
  /** Reserves a slot for a ticket. */
  reserveSlot(ticket: Ticket): void
  /** Frees the slot of a ticket that led to no work. */
  releaseSlot(ticket: Ticket): void
  /** Reports that a lease was undone, so that the next poll finds the work. */
  undoLease(work: Work): void
  /** Begins work that was stored together with its lease and is durable now. Its slot was reserved for `ticket`. */
  begin(work: Work, ticket: Ticket): void
}

/** The result of a poll: the amounts of leased work, of ready work (even if another worker has it), and of work that others run, by group. */
interface PollEnd {
  readonly leasedCount: number
  readonly readyCount: number
  readonly heldByOthers: ReadonlyMap<string, number>
}

/** A turn, or a message that becomes one. */
export type TurnTicket = Pick<Turn, 'agent'>

export interface TurnConsumer extends WorkConsumer<Turn, TurnTicket> {
  /**
   * Returns true if the turn of a message that begins a thread may begin before the message is durable. The store then stores the answer in the same
   * transaction, if the agent gives it at once. Default: false.
   */
  continuesAdmission?(ticket: TurnTicket): boolean
  /** Returns the number of turns of this agent that may run concurrently, here and elsewhere; Infinity means any number. */
  maxConcurrent(agent: string): number
}

/** A delivery, or a planned one. */
export type DeliveryTicket = Pick<Delivery, 'to' | 'target'>

export type DeliveryConsumer = WorkConsumer<Delivery, DeliveryTicket>

/**
 * The queue from which workers lease work and to which they return its result. Turns of one thread run in order, or by the queue mode of
 * their messages. Deliveries to one destination in one thread go in order. An edit of a message whose turn is open causes no turn of its own: it
 * changes the content of that turn and aborts it if it runs, so that it runs again (`maxAborts` times; after that the edit follows the turn).
 * Every change that makes work ready notifies `work`. A committed turn notifies `message:<n>` with `{ kind: 'settled' }`. If the turn belongs to a
 * task, the notice in the same process contains the current task (`task`, a `SettledTask`) to save a query; other processes get it without the task.
 */
export interface WorkStore extends ResultStore {
  /** Leases turns. If the calling worker is a consumer, it passes itself as `consumer`, and the store counts its slots anew. */
  leaseTurns(request: LeaseRequest & { readonly consumer?: TurnConsumer | undefined }): Promise<readonly Turn[]>
  /**
   * Sets the consumer of turns. From now on, a message that begins a thread is stored together with a lease if `consumer` has a free slot. Its turn
   * begins as soon as it is durable, without a poll. Absent if others lease from the same store and their turns cannot be counted.
   */
  setTurnConsumer?(consumer: TurnConsumer): void
  /** Sets the consumer of deliveries. Deliveries of an answer are stored with their leases if they are few and nothing has to precede them. */
  setDeliveryConsumer?(consumer: DeliveryConsumer): void
  /** Stores an interim response in one transaction, like `commit`, but the turn continues: its final answer replaces this one. @throws LeaseLost */
  storeInterimAnswer(turn: Turn, answer: Answer & { readonly response: NormalizedResponse }): Promise<void>
  /**
   * Stores notes of a running turn in its thread, in this order, and resolves once they are durable. No channel and no history shows them. A note
   * replaces the turn's earlier note of the same name. @throws LeaseLost
   */
  note(turn: Turn, notes: readonly TurnNote[]): Promise<void>
  /** Stores entries that precede the turn's message in its thread, without those that the thread already has. @throws LeaseLost */
  addBackground(turn: Turn, entries: readonly BackgroundEntry[]): Promise<void>
  /** Stores files to which the turn's message refers; from now on they are part of it. @throws LeaseLost */
  attachFiles(turn: Turn, files: readonly LinkedFile[]): Promise<void>
  /** Returns true if an entry of the turn's thread has this id. */
  hasEntry(turn: Turn, id: string): Promise<boolean>
  /** Stores actions that an agent takes without being asked, in one transaction. */
  storeActions(acts: readonly PlannedAction[], correlationId: string): Promise<void>
  leaseDeliveries(
    request: DeliveryLeaseRequest & { readonly consumer?: DeliveryConsumer | undefined },
  ): Promise<readonly Delivery[]>
  /** Leases broadcasts that are not yet fully expanded into deliveries. */
  leaseBroadcasts(request: LeaseRequest): Promise<readonly Broadcast[]>
  /** Marks a turn that waits for another agent, so that it does not count in its agent's share for any worker. The mark ends with the lease. */
  noteWaiting(turn: Turn, isWaiting: boolean): Promise<void>
  /** Marks a turn in which a process has crashed: it runs alone from now on, and a further crash counts against it. @throws LeaseLost */
  noteAlone(turn: Turn): Promise<void>
  /** Renews a lease for `leaseMs` from now. @throws LeaseLost */
  renew(work: Turn | Delivery, leaseMs: number): Promise<void>
  /** Returns the time at which the earliest turn or delivery without a holder falls due, in ms; undefined if there is none. */
  findNextDueAt(): Promise<number | undefined>
}
