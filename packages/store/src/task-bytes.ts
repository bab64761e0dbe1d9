import type { Batch } from './batch.ts'
import type { Database } from './database.ts'
import { prepareQuery } from './database.ts'

/** How much was said in the tasks of each owner, as a running total: looking it up reads no task. How many there are counts who adds one. */
export interface TaskBytes {
  /** Writes what a transaction has gathered. */
  book(batch: Batch): void
  /** As it is within a transaction. */
  read(batch: Batch, owner: string): number
}

/** An owner of no tasks and no bytes has no total. */
export const endTaskTotal = 'DELETE FROM task_bytes WHERE owner = ? AND bytes = 0 AND tasks = 0'

export function createTaskBytes(db: Database): TaskBytes {
  const add = prepareQuery(
    db,
    `INSERT INTO task_bytes (owner, bytes) VALUES (?1, max(0, ?2))
     ON CONFLICT (owner) DO UPDATE SET bytes = max(0, task_bytes.bytes + ?2)`,
  )
  const end = prepareQuery(db, endTaskTotal)
  const find = prepareQuery<{ bytes: number }>(db, 'SELECT bytes FROM task_bytes WHERE owner = ?')
  return {
    book({ taskBytes }) {
      for (const [owner, by] of taskBytes) {
        if (by !== 0) add.run(owner, by)
        if (by < 0) end.run(owner)
      }
    },
    read: ({ taskBytes }, owner) => (find.get(owner)?.bytes ?? 0) + (taskBytes.get(owner) ?? 0),
  }
}
