// Makes the next turn of a thread ready.
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'

/** Prepares the function that makes the first open turn of a thread ready. */
export function createPromotion(db: Sql): (batch: Batch, thread: number, now: number) => Operation<void> {
  const promote = db.prepare(
    `UPDATE turns SET due_at = max(?1, coalesce(ready_at, 0)) WHERE due_at IS NULL AND message =
       (SELECT message FROM turns WHERE thread_id = ?2 AND ended_at IS NULL AND merged_into IS NULL ORDER BY message LIMIT 1)`,
  )
  return function* (batch, thread, now) {
    if ((yield* promote.change(now, thread)) > 0) batch.readyWork.add('turns')
  }
}
