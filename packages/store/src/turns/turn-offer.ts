import type { LeaseRequest, Turn, TurnTaker, WorkStore } from '@postern/core'
import type { Batch } from '../engine/batch.ts'
import type { Ownership } from '../engine/database.ts'
import type { MessageDraft } from '../messages/insert.ts'
import type { NotedMessage } from '../messages/reader.ts'
import { isSmall, toStoredFirst } from '../messages/reader.ts'
import type { QueuedTurn } from './table.ts'
import { toFirstTurn } from './turn-reader.ts'

/** Turns for the worker of this process: those of new messages need no lease of their own. */
export interface TurnOffer extends Pick<WorkStore, 'offerTurns'> {
  /** Whether the turn of a message may bring its lease along. `thread`: where it belongs; undefined: it begins one. */
  takes(draft: MessageDraft, thread: number | undefined): boolean
  lease(now: number): QueuedTurn['lease']
  /** A turn was inserted with its lease. */
  begin(batch: Batch, draft: MessageDraft, noted: NotedMessage): void
  /** What a worker may lease now: it has begun turns since it asked. */
  limitRequest(request: LeaseRequest): Pick<LeaseRequest, 'limit' | 'shares'>
  /** Turns were leased. */
  hold(batch: Batch, holder: string, turns: readonly Turn[]): readonly Turn[]
  /** To be called when a transaction is durable. */
  tellNew(batch: Batch): Batch
  /** To be called when it was undone. */
  undo(batch: Pick<Batch, 'leasedTurns'>): void
}

export function createTurnOffer({ isAlone }: Ownership): TurnOffer {
  let taker: TurnTaker | undefined
  const isTaker = (holder: string) => taker?.holder === holder

  function offerTurns(offered: TurnTaker): void {
    taker = offered
  }

  function hold(batch: Batch, turn: Turn): void {
    taker?.hold(turn)
    batch.leasedTurns.push(turn)
  }

  return {
    // Others who lease have slots and shares that nobody here knows.
    ...(isAlone && { offerTurns }),
    takes(draft, thread) {
      return thread === undefined && taker !== undefined && isPlain(draft) && taker.hasRoom(draft.intake.agent)
    },
    lease: now => taker && { holder: taker.holder, until: now + taker.leaseMs },
    begin(batch, draft, noted) {
      const turn = toFirstTurn(toStoredFirst(draft, noted))
      hold(batch, turn)
      batch.newTurns.push(turn)
    },
    limitRequest: request => (taker && isTaker(request.holder) ? taker.lookForAll() : request),
    hold(batch, holder, turns) {
      if (isTaker(holder)) for (const turn of turns) hold(batch, turn)
      return turns
    },
    tellNew(batch) {
      for (const turn of batch.newTurns) taker?.begin(turn)
      return batch
    },
    undo({ leasedTurns }) {
      for (const turn of leasedTurns) taker?.letGo(turn)
    },
  }
}

/** Its turn has no queue mode, and the message is at hand. */
function isPlain(draft: MessageDraft): boolean {
  const { message, thread } = draft.intake
  return (message.kind ?? 'message') === 'message' && !thread.joined && !draft.lane && isSmall(draft)
}
