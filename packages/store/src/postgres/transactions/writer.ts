// Groups writes into transactions on PostgreSQL, of which several run at the same time.
import { AnswerFailed, OperationFailed } from '../../sqlite/write/transactions.ts'
import type { WriteOperation } from '../../transaction/batch.ts'
import { batchSize, maxOperations } from '../../transaction/bounds.ts'
import type { Writer, WriterHooks, WriteTerms } from '../../transaction/writer.ts'

import { maxLocks } from '../locks/named-locks.ts'
import type { RunWrites, TransactionWrite } from './transaction.ts'

interface Job extends TransactionWrite {
  readonly size: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

type JobOptions = WriteTerms & Partial<Pick<Job, 'isDurable' | 'isLast'>>

/** The maximum number of transactions of one gateway at the same time. With more transactions, fewer writes would share a commit. */
const maxTransactions = 2

/** The time for which writes are collected while a transaction runs, ms. */
const gatherMs = 2

/**
 * Creates the writer. Writes that arrive together share a transaction, and several transactions run at the same time. If two writes have a common
 * name, the later write begins after the earlier one has ended. A write without names waits for all earlier writes, and all later writes wait for it.
 */
export function createPostgresWriter(runWrites: RunWrites, hooks: WriterHooks): Writer {
  const queue: Job[] = []
  const transactions = createRunningTransactions(runWrites, hooks)
  let isScheduled = false
  let isClosed = false
  let onIdle: (() => void) | undefined

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    // A single write starts at once. While a transaction runs, a write waits a moment for further writes.
    if (transactions.count() > 0) setTimeout(writeNext, gatherMs)
    else setImmediate(writeNext)
  }

  function writeNext(): void {
    isScheduled = false
    while (transactions.count() < maxTransactions) {
      const jobs = dequeueJobs(queue, transactions.listJobs())
      if (jobs.length === 0) break
      void transactions.run(jobs).then(writeNext)
    }
    if (transactions.count() === 0 && queue.length === 0) onIdle?.()
  }

  function enqueue<T>(operation: WriteOperation<T>, { conflictKeys, size = 0, ...terms }: JobOptions): Promise<T> {
    const { isDurable = true, isLast = false, sparesTurns } = terms
    return new Promise((resolve, reject) => {
      if (isClosed) return reject(new Error('the store is closed'))
      const callbacks = { resolve: resolve as Job['resolve'], reject }
      queue.push({ operation, names: conflictKeys?.(), size, isDurable, isLast, sparesTurns, ...callbacks })
      schedule()
    })
  }

  return {
    write: (operation, terms = {}) => enqueue(operation, terms),
    writeLightly: (operation, terms = {}) => enqueue(operation, { ...terms, isDurable: false }),
    writeLast: operation => enqueue(operation, { isDurable: false, isLast: true, conflictKeys: () => [] }),
    async close() {
      isClosed = true
      const idle = new Promise<void>(resolve => {
        onIdle = resolve
      })
      writeNext()
      await idle
    },
  }
}

interface RunningTransactions {
  count(): number
  listJobs(): readonly Job[]
  /** Runs jobs in one transaction. Resolves when all of them have their results. */
  run(jobs: readonly Job[]): Promise<void>
}

function createRunningTransactions(runShares: RunWrites, { onDurable }: WriterHooks): RunningTransactions {
  const running = new Map<Promise<void>, readonly Job[]>()

  async function writeAll(jobs: readonly Job[], isRetry = false): Promise<void> {
    try {
      const { results, batch } = await runShares(jobs, isRetry)
      const resolveJobs = (isLast: boolean) => {
        for (const [index, job] of jobs.entries()) if (job.isLast === isLast) job.resolve(results[index])
      }
      resolveJobs(false)
      onDurable(batch)
      // These jobs may have leased work that another transaction has written. The writer of that work gets its result first.
      if (jobs.some(({ isLast }) => isLast)) void waitForOthers(jobs).then(() => resolveJobs(true))
    } catch (error) {
      await rejectOrSplit(jobs, error)
    }
  }

  /** Rejects the jobs. If one of several jobs failed, each of them runs again in its own transaction. */
  async function rejectOrSplit(jobs: readonly Job[], error: unknown): Promise<void> {
    const [job, ...otherJobs] = jobs
    if (otherJobs.length === 0 && !(error instanceof AnswerFailed))
      return job?.reject(error instanceof OperationFailed ? error.cause : error)
    if (error instanceof OperationFailed) for (const singleJob of jobs) await writeAll([singleJob], true)
    else for (const { reject } of jobs) reject(error)
  }

  async function waitForOthers(jobs: readonly Job[]): Promise<void> {
    const otherTransactions = [...running].filter(([, runningJobs]) => !jobs.some(job => runningJobs.includes(job)))
    await Promise.all(otherTransactions.map(([transaction]) => transaction))
  }

  return {
    count: () => running.size,
    listJobs: () => [...running.values()].flat(),
    run(jobs) {
      const transaction = writeAll(jobs).then(() => void running.delete(transaction))
      running.set(transaction, jobs)
      return transaction
    },
  }
}

/** Removes the jobs of the next transaction from the queue and returns them in their order. They have no name in common with the running jobs. */
function dequeueJobs(queue: Job[], running: readonly Job[]): readonly Job[] {
  if (running.some(({ names }) => !names)) return []
  if (queue[0] && !queue[0].names) return running.length > 0 ? [] : dequeueUnnamed(queue)
  const busyNames = new Set(running.flatMap(listNames))
  const isFull = createFullCheck()
  const end = queue.findIndex(job => !job.names || isFull(job))
  const candidates = queue.splice(0, end < 0 ? queue.length : end)
  const startableJobs = candidates.filter(job => {
    const isFree = !listNames(job).some(name => busyNames.has(name))
    // Later jobs with one of these names must wait, too.
    if (!isFree) for (const name of listNames(job)) busyNames.add(name)
    return isFree
  })
  queue.unshift(...candidates.filter(job => !startableJobs.includes(job)))
  return [...startableJobs.filter(({ isLast }) => !isLast), ...startableJobs.filter(({ isLast }) => isLast)]
}

/**
 * Lists the names of a job. Jobs with a common name never run at the same time. All polls share a name, so that each poll sees the leases of the
 * previous poll.
 */
function listNames({ names = [], isLast }: Job): readonly string[] {
  return isLast ? ['leases of this gateway'] : names
}

function dequeueUnnamed(queue: Job[]): readonly Job[] {
  const isFull = createFullCheck()
  const end = queue.findIndex(job => job.names !== undefined || isFull(job))
  return queue.splice(0, end < 0 ? queue.length : end)
}

/** Creates a function that returns true if a transaction is too full for another job. A single job may have any size. */
function createFullCheck(): (job: Job) => boolean {
  let [count, names, size] = [0, 0, 0]
  return job => {
    count += 1
    names += job.names?.length ?? 0
    size += job.size
    return count > 1 && (count > maxOperations || names > maxLocks || size > batchSize)
  }
}
