// Stores the running totals of the bytes and tasks of each owner.
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { Batch } from './batch.ts'
import { sortByName } from './totals.ts'
import { formatZeroTotalDeletion } from './zero-totals.ts'

/** The running totals of the bytes and the number of tasks of each owner, so that no query must read the tasks. */
interface TaskBytes {
  /** Writes the changes that a transaction has collected so far. */
  writeChanges(batch: Batch): void
  /** Reads the stored bytes of an owner, including the changes of the transaction. */
  read(batch: Batch, owner: string): Operation<number>
}

/**
 * The statement that deletes the total of an owner without tasks and bytes. The last task is deleted only while no other transaction writes, so no
 * shard changes at the same time.
 */
export const zeroTaskTotalDeletion = formatZeroTotalDeletion('task_bytes', ['bytes', 'tasks'])

export function createTaskBytes(db: Sql): TaskBytes {
  const add = db.prepare(
    `INSERT INTO task_bytes (owner, bytes, tasks) VALUES (?1, ?2, ?3)
     ON CONFLICT (owner, shard) DO UPDATE SET bytes = task_bytes.bytes + excluded.bytes, tasks = task_bytes.tasks + excluded.tasks`,
  )
  const deleteTotal = db.prepare(zeroTaskTotalDeletion)
  const find = db.prepare<{ bytes: number | null }>('SELECT sum(bytes) AS bytes FROM task_bytes WHERE owner = ?')
  return {
    writeChanges({ taskTotals }) {
      // All gateways write totals in the same order, so that transactions with the same shard cause no deadlock.
      for (const [owner, { bytes, tasks }] of sortByName(taskTotals)) {
        if (bytes !== 0 || tasks !== 0) add.run(owner, bytes, tasks)
        if (bytes < 0) deleteTotal.run(owner)
      }
      taskTotals.clear()
    },
    *read({ taskTotals }, owner) {
      return ((yield* find.get(owner))?.bytes ?? 0) + (taskTotals.get(owner)?.bytes ?? 0)
    },
  }
}
