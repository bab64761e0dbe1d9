// Groups the writes of one process into transactions of SQLite.
import { setTimeout as delay } from 'node:timers/promises'
import type { FileDatabase } from '../../sql/sql.ts'
import type { Operation, Writer, WriterHooks } from '../../transaction/writer.ts'
import type { CommittedTransaction, WriteJob, WriteJobOptions } from './jobs.ts'
import { dequeueJobs, orderJobs, rejectAll } from './jobs.ts'
import { createLockPatience, lockRetryMs } from './lock-patience.ts'
import type { RunTransaction } from './run-transaction.ts'
import { createTransactionRunner } from './run-transaction.ts'
import { createJobSettlement } from './settle-jobs.ts'
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
  const { settle, whenSynced } = createJobSettlement(transactions, hooks)
  const writeAll = createJobWriter(createTransactionRunner(db, transactions, hooks), settle)
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
    const jobs = orderJobs(dequeueJobs(queue))
    if (jobs.length === 0) return
    isBusy = jobs.length > 1
    const blockedJobs = writeAll(jobs)
    queue.unshift(...blockedJobs)
    if (blockedJobs.length > 0) scheduleRetry()
    else if (queue.length > 0) schedule()
  }

  function scheduleRetry(): void {
    isScheduled = true
    setTimeout(writeNext, lockRetryMs)
  }

  function enqueue<T>(operation: Operation<T>, terms: WriteJobOptions): Promise<T> {
    return new Promise((resolve, reject) => {
      if (isClosed) return reject(new Error('the store is closed'))
      const callbacks = { resolve: resolve as WriteJob['resolve'], reject }
      queue.push({ isDurable: true, isLast: false, size: 0, ...terms, operation, ...callbacks })
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

function createJobWriter(transaction: RunTransaction, settle: (committed: CommittedTransaction) => void): WriteJobs {
  const patience = createLockPatience()

  function writeInOneTransaction(jobs: readonly WriteJob[]): readonly WriteJob[] {
    try {
      settle({ jobs, ...transaction(jobs) })
    } catch (error) {
      if (error instanceof OperationFailed && jobs.length > 1) return writeSeparately(jobs)
      if (patience.isWorthWaiting(error)) return jobs
      rejectAll(jobs, toStoreError(unwrap(error)))
      return []
    }
    patience.end()
    return []
  }

  function writeSeparately(jobs: readonly WriteJob[]): readonly WriteJob[] {
    const at = jobs.findIndex(job => writeInOneTransaction([job]).length > 0)
    return at < 0 ? [] : jobs.slice(at)
  }

  return writeInOneTransaction
}

function unwrap(error: unknown): unknown {
  return error instanceof OperationFailed ? error.cause : error
}
