import type { LeaseRequest, SlotTicket, Turn, TurnTaker, WorkStore } from '@postern/core'
import type { Batch, Ownership } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { UnsureLease, UnsureLeases } from '../engine/unsure-leases.ts'
import { createUnsureLeases } from '../engine/unsure-leases.ts'
import type { MessageDraft, NotedMessage, StoredMessage } from '../messages/table.ts'
import { isSmall, toStoredFirst } from '../messages/table.ts'
import type { QueuedTurn } from './queue.ts'
import { createShareCheck, toSharer } from './shares.ts'

/** Turns for the worker of this process: those of new messages need no lease of their own. */
export interface TurnOffer extends Pick<WorkStore, 'offerTurns'> {
  /** Leases that may have been written, for the next look. */
  readonly unsure: UnsureLeases
  /**
   * Keeps a slot for the turn of a message until the transaction is over, if it may bring its lease along. `thread`: where it belongs; undefined: it
   * begins one.
   */
  takeSlot(batch: Batch, draft: MessageDraft, thread: number | undefined): SlotTicket | undefined
  lease(now: number): QueuedTurn['lease']
  /** A turn was inserted with its lease, in the slot that was kept for it. */
  begin(batch: Batch, slot: SlotTicket, first: { readonly draft: MessageDraft; readonly noted: NotedMessage }): void
  /** What a worker may lease now: it has begun turns since it asked. */
  limitRequest(batch: Batch, request: LeaseRequest): Pick<LeaseRequest, 'limit' | 'shares'>
  /** Turns were leased. */
  hold(batch: Batch, request: LeaseRequest, leased: LeasedTurns): readonly Turn[]
  /** To be called when a transaction is durable. */
  tellNew(batch: Batch): Batch
  /** To be called when it was undone. `isUnsure`: it may have been written after all. */
  undo(batch: Pick<Batch, 'slots' | 'leasedTurns' | 'newTurns'>, isUnsure: boolean): void
}

interface LeasedTurns {
  readonly turns: readonly Turn[]
  /** How many turns of each agent others have. */
  readonly elsewhere: ReadonlyMap<string, number>
}

export function createTurnOffer({ db, now, isAlone }: Pick<StoreContext, 'db' | 'now'> & Ownership): TurnOffer {
  const unsure = createUnsureLeases(db, { table: 'turns', number: 'message' })
  const checkShare = createShareCheck({ db, now })
  let taker: TurnTaker | undefined
  const takerOf = ({ holder }: LeaseRequest) => (taker?.holder === holder ? taker : undefined)

  function offerTurns(offered: TurnTaker): void {
    taker = offered
  }

  function keepSlot({ slots }: Batch, agent: string): SlotTicket | undefined {
    if (!taker?.hasRoom(agent)) return undefined
    const slot = { agent }
    taker.hold(slot)
    slots.push(slot)
    return slot
  }

  return {
    // Where others lease, too, their turns have to be counted.
    ...((isAlone || db.prepareCheck) && { offerTurns }),
    unsure,
    takeSlot(batch, draft, thread) {
      if (!taker || thread !== undefined || !batch.leasesNew || !isPlain(draft)) return undefined
      return batch.once(() => keepSlot(batch, draft.intake.agent))
    },
    lease: at => taker && { holder: taker.holder, until: at + taker.leaseMs },
    begin(batch, slot, { draft, noted }) {
      batch.newTurns.push([toFirstTurn(toStoredFirst(draft, noted)), slot])
      if (taker && !isAlone) checkShare(batch, taker, slot.agent)
    },
    limitRequest(batch, request) {
      const asked = takerOf(request)
      return asked ? batch.once(() => asked.lookForAll(!isAlone)) : request
    },
    hold(batch, request, { turns, elsewhere }) {
      const asked = takerOf(request)
      if (asked) {
        asked.endLook({ found: turns.length, elsewhere })
        for (const turn of turns) asked.hold(turn)
        batch.leasedTurns.push(...turns)
      }
      for (const [agent, { length }] of Map.groupBy(turns, turn => turn.agent)) {
        checkShare(batch, asked ?? toSharer(request, length), agent)
      }
      return turns
    },
    tellNew(batch) {
      for (const [turn, slot] of batch.newTurns) taker?.begin(turn, slot)
      for (const slot of batch.slots) taker?.letGo(slot)
      return batch
    },
    undo({ slots, leasedTurns, newTurns }, isUnsure) {
      if (!taker) return
      for (const ticket of [...slots, ...leasedTurns]) taker.letGo(ticket)
      const { holder } = taker
      if (isUnsure) unsure.add(newTurns.map(([turn]) => toLease(turn, holder)))
    },
  }
}

/** The turn of a message that has begun its thread, leased as it is inserted. */
function toFirstTurn({ number, ...stored }: StoredMessage): Turn {
  return { message: number, token: 1, attempt: 1, crashes: 0, ...stored, isFirst: true }
}

export function toLease({ message, token }: Pick<Turn, 'message' | 'token'>, holder: string): UnsureLease {
  return { number: message, token, holder }
}

/** Its turn has no queue mode, and the message is at hand. */
function isPlain(draft: MessageDraft): boolean {
  const { message, thread } = draft.intake
  return (message.kind ?? 'message') === 'message' && !thread.joined && !draft.lane && isSmall(draft)
}
