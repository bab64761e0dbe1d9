import type { Batch, Database } from './database.ts'
import { sortByName, sqlOf } from './database.ts'
import { createTaskBytes } from './task-bytes.ts'

/** Writes the totals of a transaction, at its end. */
export function createBooking(engine: Database): (batch: Batch) => void {
  const db = sqlOf(engine)
  const book = db.prepare(
    'INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT (name, shard) DO UPDATE SET value = counters.value + excluded.value',
  )
  const taskBytes = createTaskBytes(db)
  return batch => {
    for (const [name, by] of sortByName(batch.totals)) if (by !== 0) book.run(name, by)
    taskBytes.book(batch)
  }
}
