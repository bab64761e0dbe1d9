import type { LeaseRequest, Turn, TurnTaker, TurnTicket, WorkStore, WorkTaker } from '@postern/core'
import type { Batch, Ownership } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { UnsureLease, UnsureLeases } from '../engine/unsure-leases.ts'
import { createUnsureLeases } from '../engine/unsure-leases.ts'
import type { MessageDraft, NotedMessage, StoredMessage } from '../messages/table.ts'
import { isSmall, toStoredFirst } from '../messages/table.ts'
import { createShareCheck, toSharer } from './shares.ts'

/** A slot that is kept for new work of the worker of this process until the transaction is over. */
export interface Slot<Work, Taker = unknown> {
  readonly taker: Taker & Pick<LeaseRequest, 'holder' | 'leaseMs'>
  begin(work: Work): void
}

interface Leased<Work> {
  readonly works: readonly Work[]
  /** How much was ready, with what somebody else keeps busy. */
  readonly seen: number
  /** How much of each group others have. */
  readonly elsewhere: ReadonlyMap<string, number>
}

/** Who asks may be a worker of this process. A worker that follows another one has the same name. */
type Request<Taker> = LeaseRequest & { readonly taker?: Taker | undefined }

/** Work for the worker of this process: what is new needs no lease of its own. */
export interface Offer<Work, Ticket, Taker> {
  offer(taker: Taker): void
  keepSlot(batch: Batch, ticket: Ticket): Slot<Work, Taker> | undefined
  /** What a worker may lease now: it has begun other work since it asked. */
  limitRequest(batch: Batch, request: Request<Taker>): Pick<LeaseRequest, 'limit' | 'shares'>
  /** Work was leased. */
  hold(batch: Batch, request: Request<Taker>, leased: Leased<Work>): void
}

export function createOffer<Work extends Ticket, Ticket, Taker extends WorkTaker<Work, Ticket>>({
  isAlone,
}: Ownership): Offer<Work, Ticket, Taker> {
  let taker: Taker | undefined

  function takeSlot({ atEnd }: Batch, ticket: Ticket): Slot<Work, Taker> | undefined {
    const asked = taker
    if (!asked?.hasRoom(ticket)) return undefined
    asked.hold(ticket)
    atEnd.push(() => asked.letGo(ticket))
    return { taker: asked, begin: work => asked.begin(work, ticket) }
  }

  return {
    offer(offered) {
      taker = offered
    },
    keepSlot(batch, ticket) {
      return batch.leasesNew ? batch.once(() => takeSlot(batch, ticket)) : undefined
    },
    limitRequest(batch, request) {
      const { taker: asked } = request
      return asked ? batch.once(() => asked.lookForAll(!isAlone)) : request
    },
    hold(batch, { taker: asked }, { works, seen, elsewhere }) {
      if (!asked) return
      for (const work of works) asked.hold(work)
      asked.endLook({ found: works.length, seen, elsewhere })
      batch.ifUndone.push(() => works.forEach(asked.giveUp))
    },
  }
}

export type TurnSlot = Slot<Turn, TurnTaker>

export interface TurnOffer
  extends Pick<WorkStore, 'offerTurns'>,
    Pick<Offer<Turn, TurnTicket, TurnTaker>, 'limitRequest'> {
  /** Leases that may have been written, for the next look. */
  readonly unsure: UnsureLeases
  /** For the turn of a message that may bring its lease along. `thread`: where it belongs; undefined: it begins one. */
  keepSlot(batch: Batch, draft: MessageDraft, thread: number | undefined): TurnSlot | undefined
  /** A turn was inserted with its lease, in the slot that was kept for it. */
  begin(batch: Batch, slot: TurnSlot, first: { readonly draft: MessageDraft; readonly noted: NotedMessage }): void
  /** Turns were leased. */
  hold(batch: Batch, request: Request<TurnTaker>, leased: Leased<Turn>): readonly Turn[]
}

export function createTurnOffer({ db, now, isAlone }: Pick<StoreContext, 'db' | 'now'> & Ownership): TurnOffer {
  const { offer, keepSlot, limitRequest, hold } = createOffer<Turn, TurnTicket, TurnTaker>({ isAlone })
  const unsure = createUnsureLeases(db, { table: 'turns', number: 'message' })
  const checkShare = createShareCheck({ db, now })
  return {
    // Where others lease, too, their turns have to be counted.
    ...((isAlone || db.prepareCheck) && { offerTurns: offer }),
    unsure,
    limitRequest,
    keepSlot(batch, draft, thread) {
      if (thread !== undefined || !isPlain(draft)) return undefined
      return keepSlot(batch, { agent: draft.intake.agent })
    },
    begin(batch, { taker, begin }, { draft, noted }) {
      const turn = toFirstTurn(toStoredFirst(draft, noted))
      batch.begins.push(() => begin(turn))
      if (isAlone) return
      checkShare(batch, taker, turn.agent)
      const lease = toLease(turn, { holder: taker.holder, until: now() + taker.leaseMs })
      batch.ifUnsure.push(() => unsure.add(lease))
    },
    hold(batch, request, leased) {
      hold(batch, request, leased)
      for (const [agent, { length }] of Map.groupBy(leased.works, turn => turn.agent)) {
        checkShare(batch, request.taker ?? toSharer(request, length), agent)
      }
      return leased.works
    },
  }
}

/** The turn of a message that has begun its thread, leased as it is inserted. */
function toFirstTurn({ number, ...stored }: StoredMessage): Turn {
  return { message: number, token: 1, attempt: 1, crashes: 0, ...stored, isFirst: true }
}

export function toLease(
  { message, token }: Pick<Turn, 'message' | 'token'>,
  { holder, until }: Pick<UnsureLease, 'holder' | 'until'>,
): UnsureLease {
  return { number: message, token, holder, until }
}

/** Its turn has no queue mode, and the message is at hand. */
function isPlain(draft: MessageDraft): boolean {
  const { message, thread } = draft.intake
  return (message.kind ?? 'message') === 'message' && !thread.joined && !draft.lane && isSmall(draft)
}
