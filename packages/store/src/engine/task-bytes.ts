import type { Batch, Sql } from './database.ts'
import { sortByName } from './database.ts'
import { endZeroTotals } from './totals/zero-totals.ts'

/** How much was said in the tasks of each owner, and how many there are, as running totals: looking one up reads no task. */
interface TaskBytes {
  /** Writes what a transaction has gathered so far. */
  book(batch: Batch): void
  /** As it is within a transaction. */
  read(batch: Batch, owner: string): number
}

/** An owner of no tasks and no bytes has no total. The last task goes only while nobody else writes, so that no shard changes meanwhile. */
export const endTaskTotal = endZeroTotals('task_bytes', ['bytes', 'tasks'])

export function createTaskBytes(db: Sql): TaskBytes {
  const add = db.prepare(
    `INSERT INTO task_bytes (owner, bytes, tasks) VALUES (?1, ?2, ?3)
     ON CONFLICT (owner, shard) DO UPDATE SET bytes = task_bytes.bytes + excluded.bytes, tasks = task_bytes.tasks + excluded.tasks`,
  )
  const end = db.prepare(endTaskTotal)
  const find = db.prepare<{ bytes: number | null }>('SELECT sum(bytes) AS bytes FROM task_bytes WHERE owner = ?')
  return {
    book({ taskTotals }) {
      // In one order: gateways of the same shard then wait for each other one way only.
      for (const [owner, { bytes, tasks }] of sortByName(taskTotals)) {
        if (bytes !== 0 || tasks !== 0) add.run(owner, bytes, tasks)
        if (bytes < 0) end.run(owner)
      }
      taskTotals.clear()
    },
    read: ({ taskTotals }, owner) => (find.get(owner)?.bytes ?? 0) + (taskTotals.get(owner)?.bytes ?? 0),
  }
}
