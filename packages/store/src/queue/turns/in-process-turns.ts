// Hands new turns to the worker of this process.
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

export interface InProcessTurns
  extends Pick<WorkStore, 'setTurnConsumer'>,
    Pick<InProcessQueue<Turn, TurnTicket, TurnConsumer>, 'limitRequest'> {
  /** Leases that may have been stored, for the next poll. */
  readonly inDoubt: InDoubtLeases
  /** Turns that began within the transactions of their messages. */
  readonly continued: Pick<ContinuedTurns, 'join' | 'afterStored'>
  /** Prevents turns from beginning before their messages are durable, until this time, ms. */
  holdContinuations(endsAt: number): void
  /** Keeps a slot for the turn of a message, if it can be inserted with its lease. `thread` is undefined for a message that begins one. */
  keepSlot(batch: Batch, draft: MessageDraft, thread: number | undefined): TurnSlot | undefined
  /** Begins a turn that was inserted with its lease: within its transaction, if the agent allows that, or when the transaction is durable. */
  begin(
    batch: Batch,
    slot: TurnSlot,
    first: { readonly draft: MessageDraft; readonly insertedMessage: InsertedMessage },
  ): void
  /** Reserves slots for the leased turns, ends the poll and returns the turns. */
  hold(batch: Batch, request: PollRequest<TurnConsumer>, leased: LeasedWork<Turn>): readonly Turn[]
}

export function createInProcessTurns({
  db,
  now,
  isSoleWriter,
}: Pick<StoreContext, 'db' | 'now'> & WriterExclusivity): InProcessTurns {
  const { setConsumer, keepSlot, limitRequest, hold } = createInProcessQueue<Turn, TurnTicket, TurnConsumer>({
    isSoleWriter,
  })
  const inDoubt = createInDoubtLeases(db, { table: 'turns', idColumn: 'message' })
  const checkShare = createShareCheck({ db, now })
  const continued = createContinuedTurns()
  let heldUntil = Number.NEGATIVE_INFINITY

  function mayContinue(batch: Batch, { intake }: MessageDraft, consumer: TurnConsumer): boolean {
    if (!batch.continuesTurns || intake.isFollowed || now() < heldUntil) return false
    return consumer.continuesAdmission?.(intake) === true
  }

  return {
    // Other gateways may lease, too, so a check counts their turns.
    ...((isSoleWriter || db.prepareCheck) && { setTurnConsumer: setConsumer }),
    inDoubt,
    continued,
    limitRequest,
    holdContinuations(endsAt) {
      heldUntil = endsAt
    },
    keepSlot(batch, draft, thread) {
      if (thread !== undefined || !isPlain(draft)) return undefined
      return keepSlot(batch, { agent: draft.intake.agent })
    },
    begin(batch, { consumer, begin }, { draft, insertedMessage }) {
      const turn = toFirstTurn(toStoredFirstMessage(draft, insertedMessage))
      if (mayContinue(batch, draft, consumer)) continued.add(batch, turn, begin)
      else batch.begins.push(() => begin(turn))
      if (isSoleWriter) return
      checkShare(batch, consumer, turn.agent)
      const lease = toLease(turn, { holder: consumer.holder, expiresAt: now() + consumer.leaseMs })
      batch.ifUnsure.push(() => inDoubt.add(lease))
    },
    hold(batch, request, leased) {
      hold(batch, request, leased)
      const limits = request.consumer ?? toShareLimits(request)
      for (const agent of new Set(leased.work.map(turn => turn.agent))) checkShare(batch, limits, agent)
      return leased.work
    },
  }
}

/** Builds the turn of a message that began its thread, with the lease of its insert. */
function toFirstTurn({ number, ...storedMessage }: StoredMessage): Turn {
  return { message: number, token: 1, attempt: 1, crashes: 0, ...storedMessage, isFirst: true }
}

export function toLease(
  { message, token }: Pick<Turn, 'message' | 'token'>,
  { holder, expiresAt }: Pick<InDoubtLease, 'holder' | 'expiresAt'>,
): InDoubtLease {
  return { number: message, token, holder, expiresAt }
}

/** Returns true if the turn of a message has no queue mode and the message is small enough to keep. */
function isPlain(draft: MessageDraft): boolean {
  const { message, thread } = draft.intake
  return (message.kind ?? 'message') === 'message' && !thread.joined && !draft.queuePosition && fitsInMemory(draft)
}
