// Runs jobs in one transaction of SQLite.
import type { FileDatabase } from '../../sql/file-sql.ts'
import { runNow } from '../../sql/operation.ts'
import { createSqliteSql } from '../../sql/sqlite-sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import { createBatch, noNewTurns } from '../../transaction/batch.ts'
import { takeAnswers } from '../../transaction/continuations.ts'
import { writeTurns } from '../../transaction/unwritten-turns.ts'
import { createTotalsWriter } from '../../transaction/write-totals.ts'
import type { WriterHooks } from '../../transaction/writer.ts'
import type { CommittedTransaction, WriteJob } from './jobs.ts'
import type { Transactions } from './transactions.ts'
import { AnswerFailed, OperationFailed } from './transactions.ts'

/** An open transaction with the results of its jobs. */
export type OpenTransaction = CommittedTransaction

/** The two halves of a transaction. Between the halves, turns of the transaction may begin. */
export interface JobTransaction {
  /** Begins the transaction and runs the jobs. In a retry, no turn begins within the transaction. If the call throws, the transaction is undone. */
  begin(jobs: readonly WriteJob[], isRetry: boolean): OpenTransaction
  /** Stores the answers of turns that have ended by now, and commits. If the call throws, the transaction is undone. */
  commit(transaction: OpenTransaction): void
}

export function createTransactionRunner(
  db: FileDatabase,
  { begin, commit, rollback }: Transactions,
  { onCommitted, onUndone }: WriterHooks,
): JobTransaction {
  const writeTotals = createTotalsWriter(createSqliteSql(db))

  function undoIfFailed<T>(batch: Batch, step: () => T): T {
    try {
      return step()
    } catch (error) {
      rollback()
      onUndone?.(batch, false)
      throw error
    }
  }

  return {
    begin(jobs, isRetry) {
      const batch = isRetry ? createBatch(noNewTurns) : createBatch()
      return undoIfFailed(batch, () => {
        begin()
        return { jobs, results: runInOrder(jobs, batch), batch }
      })
    },
    commit({ batch }) {
      undoIfFailed(batch, () => {
        storeAnswers(batch)
        writeTurns(batch)
        writeTotals(batch)
        commit()
      })
      onCommitted?.(batch)
    },
  }
}

function runInOrder(jobs: readonly WriteJob[], batch: Batch): readonly unknown[] {
  try {
    return jobs.map(({ operation, sparesTurns }) => {
      if (!sparesTurns) writeTurns(batch)
      return runNow(operation(batch))
    })
  } catch (error) {
    throw new OperationFailed('Cannot commit: an operation of the transaction failed', { cause: error })
  }
}

function storeAnswers(batch: Batch): void {
  if (batch.continuations.length === 0) return
  try {
    for (const storeAnswer of takeAnswers(batch)) runNow(storeAnswer(batch))
  } catch (error) {
    throw new AnswerFailed('an answer cannot be stored', { cause: error })
  }
}
