// Groups the writes of one process into transactions of SQLite.
import { setTimeout as delay } from 'node:timers/promises'
import type { FileDatabase } from '../../sql/file-sql.ts'
import type { WriteOperation } from '../../transaction/batch.ts'
import { continueTurns } from '../../transaction/continuations.ts'
import type { Writer, WriterHooks } from '../../transaction/writer.ts'

import type { CommittedTransaction, WriteJob, WriteJobOptions } from './jobs.ts'
import { dequeueJobs, orderJobs, rejectJobs } from './jobs.ts'
import { createLockWait, lockRetryMs } from './lock-wait.ts'
import type { JobTransaction, OpenTransaction } from './run-transaction.ts'
import { createTransactionRunner } from './run-transaction.ts'
import { createJobSettlement } from './settle-jobs.ts'
import { toStoreError } from './sqlite-errors.ts'
import { AnswerFailed, createSqliteTransactions, OperationFailed } from './transactions.ts'

/** The time for which writes are collected under load, ms. */
const gatherMs = 2

/**
 * Creates a writer with group commit. Writes wait for the next turn of the event loop, or a moment longer under load, and then share one `COMMIT`.
 * Transactions that end during a sync of the disk share the next sync. If an operation throws, the transaction is undone, and each operation runs in
 * its own transaction. While another program has locked the file, all writes wait without blocking the event loop.
 */
export function createWriter(
  db: FileDatabase,
  hooks: WriterHooks,
  transactions = createSqliteTransactions(db),
): Writer {
  const { settle, waitUntilSynced } = createJobSettlement(transactions, hooks)
  const queue = createQueue(onEnd => createJobWriting(createTransactionRunner(db, transactions, hooks), settle, onEnd))
  let isClosed = false

  function enqueue<T>(operation: WriteOperation<T>, terms: WriteJobOptions): Promise<T> {
    return new Promise((resolve, reject) => {
      if (isClosed) return reject(new Error('the store is closed'))
      const callbacks = { resolve: resolve as WriteJob['resolve'], reject }
      queue.add({ isDurable: true, isLast: false, size: 0, ...terms, operation, ...callbacks })
    })
  }

  return {
    write: (operation, terms = {}) => enqueue(operation, terms),
    writeLightly: (operation, terms = {}) => enqueue(operation, { ...terms, isDurable: false }),
    writeLast: operation => enqueue(operation, { isDurable: false, isLast: true }),
    async close() {
      isClosed = true
      await queue.empty()
      await waitUntilSynced()
    },
  }
}

interface WriteQueue {
  add(job: WriteJob): void
  /** Writes all waiting jobs. */
  empty(): Promise<void>
}

/** Creates the queue of jobs. Several jobs share a transaction, and the next transaction begins after its end. */
function createQueue(openWriting: (onEnd: (waiting: readonly WriteJob[]) => void) => JobWriting): WriteQueue {
  const { writeAll, findTurnEnd } = openWriting(continueAfter)
  const queue: WriteJob[] = []
  let isScheduled = false
  let isBusy = false

  // A single write starts at once. Under load, writes wait a moment for further writes, and all of them share the cost of one commit.
  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    if (isBusy) setTimeout(writeNext, gatherMs)
    else setImmediate(writeNext)
  }

  function writeNext(): void {
    // The open transaction continues with the queue at its end.
    if (findTurnEnd()) return
    isScheduled = false
    const jobs = orderJobs(dequeueJobs(queue))
    if (jobs.length === 0) return
    isBusy = jobs.length > 1
    isScheduled = true
    writeAll(jobs)
  }

  /** Continues after a transaction. `waitingJobs` are the jobs of the transaction if another program has locked the file. */
  function continueAfter(waitingJobs: readonly WriteJob[]): void {
    isScheduled = false
    queue.unshift(...waitingJobs)
    if (waitingJobs.length > 0) retryLater()
    else if (queue.length > 0) schedule()
  }

  function retryLater(): void {
    isScheduled = true
    setTimeout(writeNext, lockRetryMs)
  }

  return {
    add(job) {
      queue.push(job)
      schedule()
    },
    async empty() {
      for (;;) {
        writeNext()
        const open = findTurnEnd()
        if (open) await open
        else if (queue.length === 0) break
        else await delay(lockRetryMs)
      }
    },
  }
}

interface JobWriting {
  /** Writes jobs in one transaction, or each job in its own transaction if one of them throws. */
  writeAll(jobs: readonly WriteJob[]): void
  /** Returns the end of the transaction that waits for its turns, or undefined if there is none. */
  findTurnEnd(): Promise<void> | undefined
}

/** Creates the functions that write jobs. `onEnd` receives the jobs that must wait because another program has locked the file. */
function createJobWriting(
  transaction: JobTransaction,
  settle: (written: CommittedTransaction) => void,
  onEnd: (waiting: readonly WriteJob[]) => void,
): JobWriting {
  const lockWait = createLockWait()
  let turnEnd: Promise<void> | undefined

  /** Runs `step` and handles its error. @returns the jobs that must wait because another program has locked the file */
  function endOrFail(jobs: readonly WriteJob[], step: () => void): readonly WriteJob[] {
    try {
      step()
    } catch (error) {
      if (error instanceof AnswerFailed || (error instanceof OperationFailed && jobs.length > 1))
        return writeSeparately(jobs)
      if (lockWait.shouldWait(error)) return jobs
      rejectJobs(jobs, toStoreError(unwrap(error)))
      return []
    }
    lockWait.end()
    return []
  }

  function writeSeparately(jobs: readonly WriteJob[]): readonly WriteJob[] {
    const writeOne = (job: WriteJob) => endOrFail([job], () => commit(transaction.begin([job], true)))
    const index = jobs.findIndex(job => writeOne(job).length > 0)
    return index < 0 ? [] : jobs.slice(index)
  }

  function commit(open: OpenTransaction): void {
    transaction.commit(open)
    settle(open)
  }

  function waitForTurns(open: OpenTransaction): void {
    const end = Promise.withResolvers<void>()
    turnEnd = end.promise
    continueTurns(open.batch, () => {
      turnEnd = undefined
      onEnd(endOrFail(open.jobs, () => commit(open)))
      end.resolve()
    })
  }

  return {
    findTurnEnd: () => turnEnd,
    writeAll(jobs) {
      let isOpen = false
      const waiting = endOrFail(jobs, () => {
        const open = transaction.begin(jobs, false)
        isOpen = open.batch.continuations.length > 0
        if (isOpen) waitForTurns(open)
        else commit(open)
      })
      if (!isOpen) onEnd(waiting)
    },
  }
}

function unwrap(error: unknown): unknown {
  return error instanceof OperationFailed ? error.cause : error
}
