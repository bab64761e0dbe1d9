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

  function keepSlot({ atEnd }: Batch, agent: string): SlotTicket | undefined {
    const asked = taker
    const slot = { agent }
    if (!asked?.hasRoom(slot)) return undefined
    asked.hold(slot)
    atEnd.push(() => asked.letGo(slot))
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
      const asked = taker
      if (!asked) return
      const turn = toFirstTurn(toStoredFirst(draft, noted))
      batch.begins.push(() => asked.begin(turn, slot))
      if (isAlone) return
      checkShare(batch, asked, slot.agent)
      batch.ifUnsure.push(() => unsure.add([toLease(turn, asked.holder)]))
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
        batch.ifUndone.push(() => turns.forEach(asked.letGo))
      }
      for (const [agent, { length }] of Map.groupBy(turns, turn => turn.agent)) {
        checkShare(batch, asked ?? toSharer(request, length), agent)
      }
      return turns
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
