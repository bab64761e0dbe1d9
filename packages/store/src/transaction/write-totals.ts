// Writes the running totals of a transaction at its end.
import type { Sql } from '../sql/sql.ts'
import type { Batch } from './batch.ts'
import { createTaskBytes } from './task-totals.ts'
import { sortByName } from './totals.ts'

/** Prepares the function that writes the totals of a transaction at its end. */
export function createTotalsWriter(db: Sql): (batch: Batch) => void {
  const addTotal = db.prepare(
    'INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT (name, shard) DO UPDATE SET value = counters.value + excluded.value',
  )
  const taskBytes = createTaskBytes(db)
  return batch => {
    for (const [name, amount] of sortByName(batch.totals)) if (amount !== 0) addTotal.run(name, amount)
    taskBytes.writeChanges(batch)
  }
}
