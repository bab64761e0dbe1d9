// Ends the open turns of a speaker who has sent a newer message.
import { maxAborts } from '@postern/pipeline'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import type { InterruptTurns } from './enqueue-turn.ts'
import type { CancelTurn, OpenTurn } from './open-turn.ts'

interface InterruptibleTurn extends OpenTurn {
  readonly task_id: number | null
  readonly lease_owner: string | null
  readonly abort_count: number
}

/** The operations on turns and tasks that an interruption needs. */
export interface InterruptionDeps {
  /** Cancels a task whose turn was ended by a newer message, unless another turn of the task is open. */
  readonly cancelTaskUnlessOpen: (batch: Batch, task: number, now: number) => Operation<void>
  readonly cancel: CancelTurn
}

export function createInterruption(db: Sql, { cancel, cancelTaskUnlessOpen }: InterruptionDeps): InterruptTurns {
  const ownerSql = (task: string) => `coalesce((SELECT owner FROM tasks WHERE id = ${task}), '')`
  // A speaker has at most two such turns, because each newer message ends the waiting ones.
  const listOpenTurns = db.prepare<InterruptibleTurn>(
    `SELECT message, thread_id, state, merged_into, task_id, lease_owner, abort_count FROM turns INDEXED BY turns_speaker
     WHERE thread_id = ? AND speaker = ? AND ended_at IS NULL AND mode = 'interrupt' AND ${ownerSql('turns.task_id')} = ${ownerSql('?')} ORDER BY message`,
  )
  return function* (batch, { thread, task, speaker }, now) {
    const openTurns = (yield* listOpenTurns.all(thread, speaker, task ?? null)).filter(
      ({ lease_owner, abort_count }) => lease_owner === null || abort_count < maxAborts,
    )
    for (const turn of openTurns) yield* cancel(batch, turn, now, 'interrupted')
    if (openTurns.length === 0) return undefined
    // The task of the newer message continues.
    for (const interruptedTask of new Set(openTurns.map(({ task_id }) => task_id)))
      if (interruptedTask !== null && interruptedTask !== task) yield* cancelTaskUnlessOpen(batch, interruptedTask, now)
    return {
      abortCount: Math.max(
        ...openTurns.map(({ lease_owner, abort_count }) => abort_count + (lease_owner === null ? 0 : 1)),
      ),
    }
  }
}
