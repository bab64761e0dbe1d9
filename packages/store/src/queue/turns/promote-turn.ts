// Makes the next turn of a thread ready.
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'

/** Prepares the function that makes the first open turn of a thread ready. */
export function createPromotion(db: Sql): (batch: Batch, thread: number, now: number) => void {
  const promote = db.prepare(
    `UPDATE turns SET due_at = max(?1, coalesce(ready_at, 0)) WHERE due_at IS NULL AND message =
       (SELECT message FROM turns WHERE thread_id = ?2 AND ended_at IS NULL AND merged_into IS NULL ORDER BY message LIMIT 1)`,
  )
  return (batch, thread, now) => {
    if (promote.run(now, thread).changes > 0) batch.readyWork.add('turns')
  }
}
