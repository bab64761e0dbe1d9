import { closeSync, fdatasync, openSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { Unavailable } from '@postern/core'
import { createBooking } from './booking.ts'
import type { Batch, FileDatabase } from './database.ts'
import { createBatch, mostAtOnce } from './database.ts'
import { createLockPatience, lockRetryMs } from './lock-patience.ts'
import { toStoreError } from './sqlite-errors.ts'
import type { DurabilityPoint, Transactions } from './transactions.ts'
import { createSqliteTransactions, OperationFailed } from './transactions.ts'

/** Something to write. It may run twice, so everything it changes is a row or goes into the batch. */
export type Operation<T> = (batch: Batch) => T

export interface Writer {
  /**
   * Runs `operation` with everything else that is waiting in one transaction; resolves once that is durable.
   * @throws Unavailable when the disk or another process did not let it
   */
  write<T>(operation: Operation<T>, terms?: WriteTerms): Promise<T>
  /**
   * As `write`, for what may be forgotten in a power cut without harm (a lease: the work is then taken up again). It waits
   * for no disk, except with what must be durable in its transaction or before it: all hear of their writes in the order of the commits.
   */
  writeLightly<T>(operation: Operation<T>, terms?: WriteTerms): Promise<T>
  /**
   * As `writeLightly`, behind everything else of its transaction: what becomes ready in it is found, and need not wait for the next one. It takes
   * the rows that it changes for itself (`rowLocksOf`).
   */
  writeLast<T>(operation: Operation<T>): Promise<T>
  /** Writes what is waiting; later writes are refused. */
  close(): Promise<void>
}

/** What others do when a transaction ends. */
export interface WriterHooks {
  onCommitted?(batch: Batch): void
  /** `isUnsure`: it may have been written after all. */
  onUndone?(batch: Batch, isUnsure: boolean): void
  /** What was committed is on disk. */
  onDurable(batch: Batch): void
}

export interface WriteTerms {
  /** Names of what the operation reads and changes; absent: it may be anything. An engine that runs operations one after another does not ask. */
  readonly touches?: (() => readonly string[] | undefined) | undefined
  /** About how many characters it writes, where they are many. */
  readonly size?: number
}

interface Job {
  readonly operation: (batch: Batch) => unknown
  readonly isDurable: boolean
  readonly isLast: boolean
  readonly size: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

type JobTerms = WriteTerms & Partial<Pick<Job, 'isDurable' | 'isLast'>>

/** A transaction that has ended, and what came of each of its jobs. */
interface Written {
  readonly jobs: readonly Job[]
  readonly results: readonly unknown[]
  readonly batch: Batch
}

/** Characters in one transaction at most, so that the event loop breathes in between. */
export const batchSize = 1024 * 1024

/** How long writes gather while several come at a time, ms. */
const gatherMs = 2

/**
 * Group commit: writes wait for the next turn of the event loop, or a moment longer under load, and then share one `COMMIT`. Transactions that end while the
 * disk is busy share its next sync. An operation
 * that throws does not take the others with it: the batch is undone and each is run on its own. While another program holds the file all wait, and the
 * event loop goes on.
 */
export function createWriter(
  db: FileDatabase,
  hooks: WriterHooks,
  transactions = createSqliteTransactions(db),
): Writer {
  const { settle, whenSynced } = createSettling(transactions, hooks)
  const writeAll = createJobWriting(createTransaction(db, transactions, hooks), settle)
  const queue: Job[] = []
  let isScheduled = false
  let isClosed = false
  let isBusy = false

  // Alone, a write goes at once; in company it waits a moment for more of it, and all share the price of one commit.
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

  function enqueue<T>(operation: Operation<T>, terms: JobTerms): Promise<T> {
    return new Promise((resolve, reject) => {
      if (isClosed) return reject(new Error('the store is closed'))
      const told = { resolve: resolve as Job['resolve'], reject }
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

/** Writes jobs in one transaction, and each on its own when one of them throws. @returns those that another program keeps waiting */
type WriteJobs = (jobs: readonly Job[]) => readonly Job[]

function createJobWriting(transaction: RunTransaction, settle: (written: Written) => void): WriteJobs {
  const patience = createLockPatience()

  function writeTogether(jobs: readonly Job[]): readonly Job[] {
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

  function writeApart(jobs: readonly Job[]): readonly Job[] {
    const at = jobs.findIndex(job => writeTogether([job]).length > 0)
    return at < 0 ? [] : jobs.slice(at)
  }

  return writeTogether
}

interface Settling {
  /** Tells each job what came of it: at once, or when the disk has it. The next transaction need not wait meanwhile. */
  settle(written: Written): void
  /** Resolves when no job waits for the disk. */
  whenSynced(): Promise<void>
}

function createSettling({ durability }: Transactions, { onDurable, onUndone }: WriterHooks): Settling {
  let syncing = 0
  let onSynced: (() => void) | undefined
  let behindNewest: Written[] | undefined

  function tell({ jobs, results, batch }: Written): void {
    for (const [index, job] of jobs.entries()) job.resolve(results[index])
    onDurable(batch)
  }

  function loseAll({ jobs, batch }: Written, error: Error): void {
    rejectAll(jobs, toLostWrite(error))
    onUndone?.(batch, true)
  }

  function waitForDisk(written: Written, { reach }: DurabilityPoint): void {
    const behind: Written[] = []
    syncing += 1
    behindNewest = behind
    reach(error => {
      syncing -= 1
      if (behindNewest === behind) behindNewest = undefined
      if (error) loseAll(written, error)
      else tell(written)
      for (const later of behind) tell(later)
      if (syncing === 0) onSynced?.()
    })
  }

  return {
    settle(written) {
      if (durability && written.jobs.some(({ isDurable }) => isDurable)) waitForDisk(written, durability)
      // It may have seen what the disk does not have yet: a turn is leased only after its message is acknowledged.
      else if (behindNewest) behindNewest.push(written)
      else tell(written)
    },
    async whenSynced() {
      if (syncing === 0) return
      await new Promise<void>(resolve => {
        onSynced = resolve
      })
    },
  }
}

function putInOrder(jobs: readonly Job[]): readonly Job[] {
  const last = jobs.filter(({ isLast }) => isLast)
  return last.length > 0 ? [...jobs.filter(({ isLast }) => !isLast), ...last] : jobs
}

/** The first of the queue, as many as go together; one always. */
function takeJobs(queue: Job[]): Job[] {
  let size = 0
  const end = queue.findIndex((job, index) => {
    size += job.size
    return index > 0 && (index >= mostAtOnce || size > batchSize)
  })
  return queue.splice(0, end < 0 ? queue.length : end)
}

function rejectAll(jobs: readonly Job[], error: unknown): void {
  for (const job of jobs) job.reject(error)
}

type RunTransaction = (jobs: readonly Job[]) => Omit<Written, 'jobs'>

function createTransaction(
  db: FileDatabase,
  { begin, commit, rollback }: Transactions,
  { onCommitted, onUndone }: WriterHooks,
): RunTransaction {
  const book = createBooking(db)
  return jobs => {
    const batch = createBatch()
    try {
      begin()
      const results = runInOrder(jobs, batch)
      book(batch)
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

function runInOrder(jobs: readonly Job[], batch: Batch): readonly unknown[] {
  try {
    return jobs.map(({ operation }) => operation(batch))
  } catch (error) {
    throw new OperationFailed('an operation failed', { cause: error })
  }
}

function toLostWrite(cause: unknown): Unavailable {
  return new Unavailable('Cannot store: the disk did not take what was written', { cause, retryAfter: 60 })
}

function unwrap(error: unknown): unknown {
  return error instanceof OperationFailed ? error.cause : error
}

interface LogSync extends DurabilityPoint {
  /** Once nothing is waited for. */
  close(): void
}

/** As `fs.fdatasync`. */
export type SyncFile = (file: number, done: (error: Error | null) => void) => void

type Reached = Parameters<DurabilityPoint['reach']>[0]

/**
 * Waits for the disk beside the event loop: `synchronous=NORMAL` writes a commit to the log and leaves it to the kernel, `fdatasync` of the log makes it
 * last (SQLite, "Write-Ahead Logging" §2.2 and §4). One wait at a time; it covers all that was committed before it began. The log is a file of its own,
 * so that to open and close it here lets go of none of SQLite's locks.
 */
export function openLogSync(path: string, syncFile: SyncFile = fdatasync): LogSync {
  const file = openSync(`${path}-wal`, 'r+')
  let isRunning = false
  let waiting: Reached[] = []

  function start(): void {
    const covered = waiting
    waiting = []
    isRunning = true
    syncFile(file, error => {
      isRunning = false
      if (waiting.length > 0) start()
      for (const tell of covered) tell(error ?? undefined)
    })
  }

  return {
    reach(tell) {
      waiting.push(tell)
      if (!isRunning) start()
    },
    close: () => closeSync(file),
  }
}

/** From here on no commit waits for the disk by itself. What the disk did not take cannot be told from what it took: nothing is written any more. */
export function syncBeside(db: DatabaseSync, { reach, close }: LogSync, onFailure: (error: unknown) => void): LogSync {
  db.exec('PRAGMA synchronous = NORMAL')
  return {
    reach: tell =>
      reach(error => {
        if (error) onFailure(error)
        tell(error)
      }),
    close,
  }
}
