// Groups the writes of one process into transactions of SQLite.
import { setTimeout as delay } from 'node:timers/promises'
import type { FileDatabase } from '../../sql/sql.ts'
import type { Operation, Writer, WriterHooks } from '../../transaction/writer.ts'
import type { WriteJob, WriteJobTerms, Written } from './jobs.ts'
import { putInOrder, rejectAll, takeJobs } from './jobs.ts'
import { createLockPatience, lockRetryMs } from './lock-patience.ts'
import type { RunTransaction } from './run-transaction.ts'
import { createTransaction } from './run-transaction.ts'
import { createSettling } from './settle-jobs.ts'
import { toStoreError } from './sqlite-errors.ts'
import { createSqliteTransactions, OperationFailed } from './transactions.ts'

/** The time for which writes gather while several arrive at a time, ms. */
const gatherMs = 2

/**
 * Creates a writer with group commit: writes wait for the next turn of the event loop, or a moment longer under load, and then share one `COMMIT`.
 * Transactions that end while the disk is busy share its next sync. If an operation throws, the batch is undone and each operation runs by itself.
 * While another program holds the file all writes wait without blocking the event loop.
 */
export function createWriter(
  db: FileDatabase,
  hooks: WriterHooks,
  transactions = createSqliteTransactions(db),
): Writer {
  const { settle, whenSynced } = createSettling(transactions, hooks)
  const writeAll = createJobWriting(createTransaction(db, transactions, hooks), settle)
  const queue: WriteJob[] = []
  let isScheduled = false
  let isClosed = false
  let isBusy = false

  // A single write starts at once. Under load writes wait a moment for others, and all share the cost of one commit.
  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    if (isBusy) setTimeout(writeNext, gatherMs)
    else setImmediate(writeNext)
  }

  function writeNext(): void {
    isScheduled = false
    const jobs = putInOrder(takeJobs(queue))
    if (jobs.length === 0) return
    isBusy = jobs.length > 1
    const waiting = writeAll(jobs)
    queue.unshift(...waiting)
    if (waiting.length > 0) tryAgain()
    else if (queue.length > 0) schedule()
  }

  function tryAgain(): void {
    isScheduled = true
    setTimeout(writeNext, lockRetryMs)
  }

  function enqueue<T>(operation: Operation<T>, terms: WriteJobTerms): Promise<T> {
    return new Promise((resolve, reject) => {
      if (isClosed) return reject(new Error('the store is closed'))
      const told = { resolve: resolve as WriteJob['resolve'], reject }
      queue.push({ isDurable: true, isLast: false, size: 0, ...terms, operation, ...told })
      schedule()
    })
  }

  return {
    write: (operation, terms = {}) => enqueue(operation, terms),
    writeLightly: (operation, terms = {}) => enqueue(operation, { ...terms, isDurable: false }),
    writeLast: operation => enqueue(operation, { isDurable: false, isLast: true }),
    async close() {
      isClosed = true
      for (;;) {
        writeNext()
        if (queue.length === 0) break
        await delay(lockRetryMs)
      }
      await whenSynced()
    },
  }
}

/** Writes jobs in one transaction, or each by itself if one of them throws. @returns jobs that still wait for another program */
type WriteJobs = (jobs: readonly WriteJob[]) => readonly WriteJob[]

function createJobWriting(transaction: RunTransaction, settle: (written: Written) => void): WriteJobs {
  const patience = createLockPatience()

  function writeTogether(jobs: readonly WriteJob[]): readonly WriteJob[] {
    try {
      settle({ jobs, ...transaction(jobs) })
    } catch (error) {
      if (error instanceof OperationFailed && jobs.length > 1) return writeApart(jobs)
      if (patience.isWorthWaiting(error)) return jobs
      rejectAll(jobs, toStoreError(unwrap(error)))
      return []
    }
    patience.end()
    return []
  }

  function writeApart(jobs: readonly WriteJob[]): readonly WriteJob[] {
    const at = jobs.findIndex(job => writeTogether([job]).length > 0)
    return at < 0 ? [] : jobs.slice(at)
  }

  return writeTogether
}

function unwrap(error: unknown): unknown {
  return error instanceof OperationFailed ? error.cause : error
}
