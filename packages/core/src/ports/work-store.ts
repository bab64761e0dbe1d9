import type { NormalizedResponse } from '../message/response.ts'
import type { TurnNote } from './records/note.ts'
import type { KeptFile, PlannedDelivery } from './records/planned-delivery.ts'
import type { BackgroundEntry } from './records/transcript.ts'
import type {
  Answer,
  Broadcast,
  Delivery,
  DeliveryLeaseRequest,
  LeaseRequest,
  PlannedAction,
  Settlement,
  Turn,
} from './records/work.ts'
import type { TurnAttempt } from './trace/trace.ts'

/** Where the results of work end it. */
export interface ResultStore {
  /** One transaction: the response in the transcript and every delivery it causes. @throws LeaseLost */
  commit(turn: Turn, answer: Answer): Promise<void>
  /** Keeps what was heard of the answer to a turn whose task was canceled, beside its notes; nothing of any other turn. */
  keepStreamed(turn: Turn, note: TurnNote): Promise<void>
  /** Gives a turn back, to be taken up at `dueAt` (ms). An attempt given back by a shutdown does not count. */
  release(
    turn: Turn,
    again: {
      readonly dueAt: number
      readonly error?: string
      readonly uncounted?: boolean
      /** How the attempt went; for the operator. */
      readonly attempt?: TurnAttempt | undefined
    },
  ): Promise<void>
  /** @throws LeaseLost */
  settle(delivery: Delivery, settlement: Settlement): Promise<void>
  /**
   * Queues deliveries of a broadcast and moves it on past the peer at place `after`, in one transaction; `isDone` ends it. A place
   * that has a delivery of this broadcast gets no second one.
   */
  expand(
    broadcast: Broadcast,
    deliveries: readonly PlannedDelivery[],
    progress: { readonly after: number; readonly isDone: boolean },
  ): Promise<void>
}

/** Who works, in the process of the store. It is asked within transactions, so that its slots are counted when work is leased. `Ticket`: what a slot is kept for. */
export interface WorkTaker<Work extends Ticket, Ticket> extends Pick<LeaseRequest, 'holder' | 'leaseMs'> {
  /** Whether this work may begin now. False, too, where it would overtake work that waits for a slot. */
  hasRoom(ticket: Ticket): boolean
  /**
   * Work is leased now: how much it may have, for it has begun other work since it asked. `isBeside`: more is written meanwhile, and `endLook` tells
   * when it is over.
   */
  lookForAll(isBeside: boolean): Required<Pick<LeaseRequest, 'limit' | 'shares'>>
  endLook(end: LookEnd): void
  hold(ticket: Ticket): void
  /** Nothing came of a ticket. */
  letGo(ticket: Ticket): void
  /** A lease was undone: the next look finds that work. */
  giveUp(work: Work): void
  /** Work that came with its lease is durable; a slot was kept for `ticket`. */
  begin(work: Work, ticket: Ticket): void
}

/** What has come of a look: how much was leased; how much was ready, with what somebody else keeps busy; how much of each group others have. */
interface LookEnd {
  readonly found: number
  readonly seen: number
  readonly elsewhere: ReadonlyMap<string, number>
}

/** A turn, or what becomes one. */
export type TurnTicket = Pick<Turn, 'agent'>

export interface TurnTaker extends WorkTaker<Turn, TurnTicket> {
  /** How many more turns of this agent may run at once, here and elsewhere, if none ran elsewhere. */
  countFree(agent: string): number
}

/** A delivery, or what becomes one. */
export type DeliveryTicket = Pick<Delivery, 'to'>

export type DeliveryTaker = WorkTaker<Delivery, DeliveryTicket>

/**
 * Workers take work here and bring it back. Turns of one thread come in order, or as the `lane` of their messages says; so do
 * deliveries to one place in one thread. An edit of a message whose turn is open is no turn of its own: it changes the words of that
 * turn, and breaks it off if it runs, so that it is taken up again (`maxAborts` times; then it comes behind it). Whatever makes work ready notifies `work`; a committed turn notifies `message:<n>` with `{ kind: 'settled' }`, and
 * where it was of a task, with that as it is now (`task`, a `SettledTask`), so that few need read it; other processes are told without it.
 */
export interface WorkStore extends ResultStore {
  /** `taker`: who asks, if it is one; its slots are counted anew. */
  leaseTurns(request: LeaseRequest & { readonly taker?: TurnTaker | undefined }): Promise<readonly Turn[]>
  /**
   * From now on a message that begins a thread brings its lease along where `taker` has a free slot: its turn begins as soon as it is durable, and
   * nobody has to look for it. Absent where others lease from the same store whose turns nobody counts.
   */
  offerTurns?(taker: TurnTaker): void
  /** As `offerTurns`: deliveries of an answer bring their leases along, if they are few and nothing has to go before them. */
  offerDeliveries?(taker: DeliveryTaker): void
  /** One transaction, as `commit`, but the turn continues: its final answer replaces this one. @throws LeaseLost */
  say(turn: Turn, answer: Answer & { readonly response: NormalizedResponse }): Promise<void>
  /**
   * Keeps what is done in a turn that goes on, in its thread, in this order; durable when it resolves. No channel shows it, and no history. What
   * the turn has noted under the same name gives way. @throws LeaseLost
   */
  note(turn: Turn, notes: readonly TurnNote[]): Promise<void>
  /** Keeps what was said in the turn's thread before its message; what is known there already is passed over. @throws LeaseLost */
  addBackground(turn: Turn, entries: readonly BackgroundEntry[]): Promise<void>
  /** Files that the turn's message points to are part of it from now on. @throws LeaseLost */
  keepFiles(turn: Turn, files: readonly KeptFile[]): Promise<void>
  /** Whether something in the turn's thread is known by this id. */
  knows(turn: Turn, id: string): Promise<boolean>
  /** What an agent does without being asked, in one transaction. */
  act(acts: readonly PlannedAction[], correlationId: string): Promise<void>
  leaseDeliveries(
    request: DeliveryLeaseRequest & { readonly taker?: DeliveryTaker | undefined },
  ): Promise<readonly Delivery[]>
  /** Broadcasts that are not yet spread to their end. */
  leaseBroadcasts(request: LeaseRequest): Promise<readonly Broadcast[]>
  /** A turn that waits for another agent takes none of its agent's share, whoever leases; a hint, forgotten with the lease. */
  noteWaiting(turn: Turn, isWaiting: boolean): Promise<void>
  /** Makes a lease last `leaseMs` from now. @throws LeaseLost */
  renew(work: Turn | Delivery, leaseMs: number): Promise<void>
  /** When the earliest turn or delivery that nobody holds falls due, ms; undefined when there is none. */
  nextDue(): Promise<number | undefined>
}
