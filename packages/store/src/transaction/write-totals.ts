// Writes the running totals of a transaction at its end.
import { prepareForRows, repeatRow } from '../sql/multi-row.ts'
import type { Query, Sql } from '../sql/sql.ts'
import type { Batch } from './batch.ts'
import { createTaskBytes } from './task-totals.ts'
import { sortByName } from './totals.ts'

/** Prepares the function that writes the totals of a transaction at its end. */
export function createTotalsWriter(db: Sql): (batch: Batch) => void {
  const addTotals = prepareForRows<Query, readonly [name: string, amount: number]>(rowCount =>
    db.prepare(
      `INSERT INTO counters (name, value) VALUES ${repeatRow('(?, ?)', rowCount)}
       ON CONFLICT (name, shard) DO UPDATE SET value = counters.value + excluded.value`,
    ),
  )
  const taskBytes = createTaskBytes(db)
  return batch => {
    const changes = sortByName(batch.totals).filter(([, amount]) => amount !== 0)
    addTotals(changes, (insert, rows) => insert.run(...rows.flat()))
    taskBytes.writeChanges(batch)
  }
}
