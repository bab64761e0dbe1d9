// Ends the open turns of a speaker for their newer message.
import { maxAborts } from '@postern/pipeline'
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import type { Interrupt } from './enqueue-turn.ts'
import type { CancelTurn, OpenTurn } from './open-turn.ts'

interface Interruptible extends OpenTurn {
  readonly task_id: number | null
  readonly lease_owner: string | null
  readonly abort_count: number
}

/** The operations on turns and tasks that an interruption needs. */
export interface InterruptionDeps {
  /** Ends a task whose turn a newer message has ended, unless another of its turns is open. */
  readonly cancelTaskUnlessOpen: (batch: Batch, task: number, now: number) => void
  readonly cancel: CancelTurn
}

export function createInterruption(db: Sql, { cancel, cancelTaskUnlessOpen }: InterruptionDeps): Interrupt {
  const ownerSql = (task: string) => `coalesce((SELECT owner FROM tasks WHERE id = ${task}), '')`
  // A speaker has at most two such turns, because each newer one ends those that wait.
  const findOpen = db.prepare<Interruptible>(
    `SELECT message, thread_id, state, merged_into, task_id, lease_owner, abort_count FROM turns INDEXED BY turns_speaker
     WHERE thread_id = ? AND speaker = ? AND ended_at IS NULL AND mode = 'interrupt' AND ${ownerSql('turns.task_id')} = ${ownerSql('?')} ORDER BY message`,
  )
  return (batch, { thread, task, speaker }, now) => {
    const openTurns = findOpen
      .all(thread, speaker, task ?? null)
      .filter(({ lease_owner, abort_count }) => lease_owner === null || abort_count < maxAborts)
    for (const turn of openTurns) cancel(batch, turn, now, 'interrupted')
    if (openTurns.length === 0) return undefined
    // The task of the newer message continues.
    for (const interruptedTask of new Set(openTurns.map(({ task_id }) => task_id)))
      if (interruptedTask !== null && interruptedTask !== task) cancelTaskUnlessOpen(batch, interruptedTask, now)
    return {
      abortCount: Math.max(
        ...openTurns.map(({ lease_owner, abort_count }) => abort_count + (lease_owner === null ? 0 : 1)),
      ),
    }
  }
}
