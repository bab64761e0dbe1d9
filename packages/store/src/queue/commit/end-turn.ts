// Ends a turn together with the turns that it has merged.
import type { MessageState, TaskRecord, Turn } from '@postern/pipeline'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import { noteChange } from '../../transaction/notices.ts'
import { moveTotals } from '../../transaction/totals.ts'
import type { UnwrittenTurn } from '../../transaction/unwritten-turns.ts'
import type { MergedTurn } from '../turns/merge-turns.ts'
import { appendAttemptSql } from '../turns/turn-attempts.ts'
import type { AnswerColumns } from './answer-draft.ts'

/** The thread and the task of a turn. */
export interface TurnRow {
  readonly thread_id: number
  readonly task_id: number | null
}

interface EndedRow extends TurnRow {
  /** 1 if another turn of the thread is open. */
  readonly is_awaited: 0 | 1
  /** 1 if a peer has subscribed to the task. */
  readonly is_watched: 0 | 1
}

interface EndedTurn extends EndedRow {
  /** The turns of earlier messages that the same answer covers. */
  readonly merged: readonly MergedTurn[]
}

/** Prepares the end of a leased turn and of the turns that were merged into it. */
export function createTurnEnding(
  db: Sql,
): (batch: Batch, turn: Turn, draft: AnswerColumns, at: number) => Operation<EndedTurn | undefined> {
  const endLeased = db.prepare<EndedRow>(
    `UPDATE turns SET state = ?1, due_at = NULL, lease_owner = NULL, ended_at = ?2, error = ?3, trace = ${appendAttemptSql('?4')}
     WHERE message = ?5 AND lease_token = ?6 AND lease_owner IS NOT NULL RETURNING thread_id, task_id, EXISTS (SELECT 1 FROM turns o
       WHERE o.thread_id = turns.thread_id AND o.ended_at IS NULL AND o.message <> turns.message) AS is_awaited,
       EXISTS (SELECT 1 FROM push_subscriptions WHERE task_id = turns.task_id) AS is_watched`,
  )
  const endMerged = db.prepare<MergedTurn>(
    `UPDATE turns SET state = ?, ended_at = ?, error = ? WHERE merged_into = ? AND ended_at IS NULL RETURNING message, task_id`,
  )
  return function* (batch, { message, token, merged }, { state, answer, attempt }, at) {
    const error = answer.error ?? null
    const unwrittenTurn = batch.unwrittenTurns.get(message)
    if (unwrittenTurn) {
      batch.unwrittenTurns.delete(message)
      unwrittenTurn.writeEnded({ state, at, error, attempt })
      return toUnwrittenEnd(unwrittenTurn)
    }
    const outcome = [state, at, error] as const
    const row = yield* endLeased.get(...outcome, attempt, message, token)
    return row && { ...row, merged: merged ? yield* endMerged.all(...outcome, message) : [] }
  }
}

/** Returns the end of a turn that had no row. Its thread has no other turn, nobody watches its task, and it has merged no other turn. */
function toUnwrittenEnd({ thread, task }: UnwrittenTurn): EndedTurn {
  return { thread_id: thread, task_id: task ?? null, is_awaited: 0, is_watched: 0, merged: [] }
}

/** The end of a turn as its listeners receive it. */
export interface SettledTurn extends Pick<EndedTurn, 'merged'> {
  readonly state: MessageState
  readonly readTask: (() => TaskRecord | undefined) | undefined
}

/** Notifies listeners and operators of the end of a turn. */
export function notifySettled(batch: Batch, turn: Turn, { state, merged, readTask }: SettledTurn): void {
  moveTotals(batch, 1 + merged.length, ['messages.working', `messages.${state}`])
  for (const { message } of merged) {
    noteChange(batch, 'turn', message)
    batch.notices.push({ topic: `message:${message}`, payload: { kind: 'settled' } })
  }
  noteChange(batch, 'turn', turn.message)
  batch.notices.push({ topic: `message:${turn.message}`, payload: { kind: 'settled' }, readTask })
}
