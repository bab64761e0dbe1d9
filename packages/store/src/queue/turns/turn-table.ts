// Stores turns, and keeps the order of turns in a thread.
import type { TurnAborted } from '@postern/message'
import type { MessageState } from '@postern/pipeline'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import { noteChange } from '../../transaction/notices.ts'
import { moveTotal } from '../../transaction/totals.ts'
import type { TurnQueue } from './enqueue-turn.ts'
import { createTurnQueue } from './enqueue-turn.ts'
import type { InterruptionDeps } from './interrupt-turns.ts'
import { createInterruption } from './interrupt-turns.ts'
import type { CancelReason, CancelTurn, OpenTurn } from './open-turn.ts'
import { openTurnColumns } from './open-turn.ts'
import { createPromotion } from './promote-turn.ts'
import { createLeaseRevocation } from './revoke-lease.ts'

/** The table of turns. In each thread the first open turn is ready, and the others wait for it. */
export interface TurnTable extends TurnQueue {
  /** Makes the next turn of a thread ready. Call it when a turn has ended. */
  promoteNext(batch: Batch, thread: number, now: number): Operation<void>
  /**
   * Ends the turn of a message if the turn is open, and makes the next turn of its thread ready. Messages that were merged with this message are still
   * answered.
   */
  cancelMessageTurn(batch: Batch, message: number, now: number, reason?: CancelReason): Operation<void>
  /** Interrupts the worker of an open turn whose message was edited, and makes the turn ready again at once. */
  restart(batch: Batch, turn: OpenTurn, now: number): Operation<void>
  /** Assigns a waiting turn to another speaker. Turns that were merged with it get separate answers. */
  assignSpeaker(
    batch: Batch,
    turn: OpenTurn,
    assignment: { readonly speaker: string | null; readonly now: number },
  ): Operation<void>
}

interface TurnTableDeps extends Pick<InterruptionDeps, 'cancelTaskUnlessOpen'> {
  /** Withdraws the partial answers of a message's turn. */
  readonly withdrawInterim: (batch: Batch, message: number, now: number) => Operation<void>
}

interface TurnEnding {
  readonly state: MessageState
  readonly error: string
  readonly kind: TurnAborted['kind']
}

const turnEndings: Readonly<Record<CancelReason, TurnEnding>> = {
  canceled: { state: 'failed', error: 'canceled', kind: 'canceled' },
  deleted: { state: 'failed', error: 'canceled', kind: 'deleted' },
  removed: { state: 'failed', error: 'canceled', kind: 'deleted' },
  interrupted: { state: 'ignored', error: 'interrupted by a newer message', kind: 'interrupted' },
}

export function createTurnTable(db: Sql, { cancelTaskUnlessOpen, withdrawInterim }: TurnTableDeps): TurnTable {
  const findOpenTurn = db.prepare<OpenTurn>(
    `SELECT ${openTurnColumns} FROM turns WHERE message = ? AND ended_at IS NULL`,
  )
  const endTurn = db.prepare(
    `UPDATE turns SET state = ?, error = ?, due_at = NULL, lease_owner = NULL, merged_into = NULL, ended_at = ? WHERE message = ?`,
  )
  const unmerge = db.prepare(
    "UPDATE turns SET merged_into = NULL, state = 'received' WHERE merged_into = ? AND ended_at IS NULL RETURNING message",
  )
  const setSpeaker = db.prepare('UPDATE turns SET speaker = ? WHERE message = ?')
  const clearDue = db.prepare('UPDATE turns SET due_at = NULL WHERE message = ? AND lease_owner IS NULL')
  const revokeLease = createLeaseRevocation(db)
  const promoteNext = createPromotion(db)

  const cancel: CancelTurn = function* (batch, { message, state }, now, reason = 'canceled') {
    const ending = turnEndings[reason]
    for (const _ of yield* unmerge.all(message)) moveTotal(batch, `messages.${state}`, 'messages.received')
    endTurn.run(ending.state, ending.error, now, message)
    if (reason !== 'removed') yield* withdrawInterim(batch, message, now)
    moveTotal(batch, `messages.${state}`, `messages.${ending.state}`)
    noteChange(batch, 'turn', message)
    batch.notices.push({ topic: `message:${message}`, payload: { kind: ending.kind } })
  }
  const interrupt = createInterruption(db, { cancel, cancelTaskUnlessOpen })
  const restart: TurnTable['restart'] = (batch, { message, merged_into }, now) =>
    revokeLease(batch, merged_into ?? message, now)

  return {
    ...createTurnQueue(db, { interrupt, promoteNext }),
    promoteNext,
    *cancelMessageTurn(batch, message, now, reason) {
      const turn = yield* findOpenTurn.get(message)
      if (!turn) return
      yield* cancel(batch, turn, now, reason)
      if (turn.merged_into !== null) yield* revokeLease(batch, turn.merged_into, now)
      yield* promoteNext(batch, turn.thread_id, now)
    },
    restart,
    *assignSpeaker(batch, { message, thread_id, merged_into }, { speaker, now }) {
      const leader = merged_into ?? message
      setSpeaker.run(speaker, message)
      if ((yield* unmerge.all(leader)).length === 0) return
      clearDue.run(leader)
      yield* promoteNext(batch, thread_id, now)
    },
  }
}
