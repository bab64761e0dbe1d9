// Runs jobs in one transaction of SQLite.
import type { FileDatabase } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import { createBatch } from '../../transaction/batch.ts'
import { createBooking } from '../../transaction/write-totals.ts'
import type { WriterHooks } from '../../transaction/writer.ts'
import type { CommittedTransaction, WriteJob } from './jobs.ts'
import type { Transactions } from './transactions.ts'
import { OperationFailed } from './transactions.ts'

export type RunTransaction = (jobs: readonly WriteJob[]) => Omit<CommittedTransaction, 'jobs'>

export function createTransactionRunner(
  db: FileDatabase,
  { begin, commit, rollback }: Transactions,
  { onCommitted, onUndone }: WriterHooks,
): RunTransaction {
  const writeTotals = createBooking(db)
  return jobs => {
    const batch = createBatch()
    try {
      begin()
      const results = runInOrder(jobs, batch)
      writeTotals(batch)
      commit()
      onCommitted?.(batch)
      return { results, batch }
    } catch (error) {
      rollback()
      onUndone?.(batch, false)
      throw error
    }
  }
}

function runInOrder(jobs: readonly WriteJob[], batch: Batch): readonly unknown[] {
  try {
    return jobs.map(({ operation }) => operation(batch))
  } catch (error) {
    throw new OperationFailed('Cannot commit: an operation of the transaction failed', { cause: error })
  }
}
