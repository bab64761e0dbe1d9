// Hands new turns to the worker of this process without a poll.
import type { Turn, TurnConsumer, TurnTicket, WorkStore } from '@postern/pipeline'
import type { InsertedMessage } from '../../messages/first-messages.ts'
import { fitsInMemory, toStoredFirstMessage } from '../../messages/first-messages.ts'
import type { MessageDraft } from '../../messages/message-draft.ts'
import type { StoredMessage } from '../../messages/read-message.ts'
import type { WriterExclusivity } from '../../sql/ownership.ts'
import type { Batch } from '../../transaction/batch.ts'
import type { StoreContext } from '../../transaction/store-context.ts'
import type { ContinuedTurns } from '../continued-turns.ts'
import { createContinuedTurns } from '../continued-turns.ts'
import type { InDoubtLease, InDoubtLeases } from '../in-doubt-leases.ts'
import { createInDoubtLeases } from '../in-doubt-leases.ts'
import type { InProcessQueue, LeasedWork, PollRequest, Slot } from '../in-process-queue.ts'
import { createInProcessQueue } from '../in-process-queue.ts'
import { createShareCheck, toShareLimits } from './leased-turns.ts'

export type TurnSlot = Slot<Turn, TurnConsumer>

/** The turn of a message that was inserted with its lease. */
interface InsertedTurn {
  readonly draft: MessageDraft
  readonly insertedMessage: InsertedMessage
  /** The end of the lease as it was inserted, ms. */
  readonly expiresAt: number
  /** True if the turn begins within its transaction. */
  readonly continues: boolean
}

export interface InProcessTurns
  extends Pick<WorkStore, 'setTurnConsumer'>,
    Pick<InProcessQueue<Turn, TurnTicket, TurnConsumer>, 'limitRequest'> {
  /** The leases that may have been stored. The next poll releases them. */
  readonly inDoubt: InDoubtLeases
  /** The turns that begin within the transactions of their messages. */
  readonly continuedTurns: Pick<ContinuedTurns, 'storeWithMessage' | 'runWhenStored'>
  /** Prevents turns from beginning before their messages are durable, until this time, ms. */
  delayContinuations(endsAt: number): void
  /** Reserves a slot for the turn of a message, if the turn can be inserted with its lease. `thread` is undefined if the message begins a thread. */
  reserveSlot(batch: Batch, draft: MessageDraft, thread: number | undefined): TurnSlot | undefined
  /** Returns true if the turn of a message may begin within its transaction. */
  mayContinue(batch: Batch, draft: MessageDraft, slot: TurnSlot): boolean
  /** Begins a turn that has a lease, within its transaction or when the transaction is durable. */
  begin(batch: Batch, slot: TurnSlot, first: InsertedTurn): void
  /** Reserves slots for the leased turns, ends the poll and returns the turns. */
  endPoll(batch: Batch, request: PollRequest<TurnConsumer>, leased: LeasedWork<Turn>): readonly Turn[]
}

export function createInProcessTurns({
  db,
  now,
  isSoleWriter,
}: Pick<StoreContext, 'db' | 'now'> & WriterExclusivity): InProcessTurns {
  const { setConsumer, reserveSlot, limitRequest, endPoll } = createInProcessQueue<Turn, TurnTicket, TurnConsumer>({
    isSoleWriter,
  })
  const inDoubt = createInDoubtLeases(db, { table: 'turns', idColumn: 'message' })
  const checkShare = createShareCheck({ db, now })
  const continuedTurns = createContinuedTurns()
  let delayedUntil = Number.NEGATIVE_INFINITY

  return {
    // Other gateways may lease turns, too, so this needs a check that counts their turns.
    ...((isSoleWriter || db.hasEndChecks) && { setTurnConsumer: setConsumer }),
    inDoubt,
    continuedTurns,
    limitRequest,
    delayContinuations(endsAt) {
      delayedUntil = endsAt
    },
    reserveSlot(batch, draft, thread) {
      if (thread !== undefined || !isUnqueued(draft)) return undefined
      return reserveSlot(batch, { agent: draft.intake.agent })
    },
    mayContinue(batch, { intake }, { consumer }) {
      if (!batch.continuesTurns || intake.isFollowed || now() < delayedUntil) return false
      return consumer.continuesAdmission?.(intake) === true
    },
    begin(batch, { consumer, begin }, { draft, insertedMessage, expiresAt, continues }) {
      const turn = toFirstTurn(toStoredFirstMessage(draft, insertedMessage))
      if (continues) continuedTurns.add(batch, turn, begin)
      else batch.begins.push(() => begin(turn))
      if (isSoleWriter) return
      checkShare(batch, consumer, turn.agent)
      const lease = toLease(turn, { holder: consumer.holder, expiresAt })
      batch.ifUnsure.push(() => inDoubt.add(lease))
    },
    endPoll(batch, request, leased) {
      endPoll(batch, request, leased)
      const limits = request.consumer ?? toShareLimits(request)
      for (const agent of new Set(leased.work.map(turn => turn.agent))) checkShare(batch, limits, agent)
      return leased.work
    },
  }
}

/** Builds the turn of a message that began its thread, with the lease with which it was inserted. */
function toFirstTurn({ number, ...storedMessage }: StoredMessage): Turn {
  return { message: number, token: 1, attempt: 1, crashes: 0, ...storedMessage, isFirst: true }
}

export function toLease(
  { message, token }: Pick<Turn, 'message' | 'token'>,
  { holder, expiresAt }: Pick<InDoubtLease, 'holder' | 'expiresAt'>,
): InDoubtLease {
  return { workNumber: message, token, holder, expiresAt }
}

/** Returns true if the turn of a message has no queue mode and the message fits into memory. */
function isUnqueued(draft: MessageDraft): boolean {
  const { message, thread } = draft.intake
  return (message.kind ?? 'message') === 'message' && !thread.joined && !draft.queuePosition && fitsInMemory(draft)
}
