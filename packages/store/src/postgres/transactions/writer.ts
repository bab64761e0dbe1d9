// Groups writes into transactions of PostgreSQL that run at the same time.
import { AnswerFailed, OperationFailed } from '../../sqlite/write/transactions.ts'
import { batchSize, maxOperations } from '../../transaction/bounds.ts'
import type { Operation, Writer, WriterHooks, WriteTerms } from '../../transaction/writer.ts'
import { maxLocks } from '../locks/named-locks.ts'
import type { RunShares, Share } from './transaction.ts'

interface Job extends Share {
  readonly size: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

type JobOptions = WriteTerms & Partial<Pick<Job, 'isDurable' | 'isLast'>>

/** The maximum number of transactions of one gateway at a time. More of them would share less, and each has a commit of its own. */
const maxTransactions = 2

/** The time for which writes gather while a transaction runs, ms. */
const gatherMs = 2

/**
 * Creates the writer. Writes that arrive together share a transaction, and several transactions run at a time. Of two writes with a common name the
 * later one begins after the end of the earlier one. A write without names waits for all earlier ones, and all later ones wait for it.
 */
export function createPostgresWriter(runShares: RunShares, hooks: WriterHooks): Writer {
  const queue: Job[] = []
  const transactions = createRunningTransactions(runShares, hooks)
  let isScheduled = false
  let isClosed = false
  let onIdle: (() => void) | undefined

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    // A single write starts at once. While a transaction runs, a write waits a moment for others.
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

  function enqueue<T>(operation: Operation<T>, { conflictKeys, size = 0, ...terms }: JobOptions): Promise<T> {
    const { isDurable = true, isLast = false } = terms
    return new Promise((resolve, reject) => {
      if (isClosed) return reject(new Error('the store is closed'))
      const callbacks = { resolve: resolve as Job['resolve'], reject }
      queue.push({ operation, names: conflictKeys?.(), size, isDurable, isLast, ...callbacks })
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
  /** Resolves when all of them have their results. */
  run(jobs: readonly Job[]): Promise<void>
}

function createRunningTransactions(runShares: RunShares, { onDurable }: WriterHooks): RunningTransactions {
  const running = new Map<Promise<void>, readonly Job[]>()

  async function writeAll(jobs: readonly Job[], isAgain = false): Promise<void> {
    try {
      const { results, batch } = await runShares(jobs, isAgain)
      const resolveJobs = (isLast: boolean) => {
        for (const [index, job] of jobs.entries()) if (job.isLast === isLast) job.resolve(results[index])
      }
      resolveJobs(false)
      onDurable(batch)
      // They may have leased work that another transaction has written. The writer of that work gets its result first.
      if (jobs.some(({ isLast }) => isLast)) void waitForOthers(jobs).then(() => resolveJobs(true))
    } catch (error) {
      await rejectOrSplit(jobs, error)
    }
  }

  /** Rejects the jobs. If one of them failed, each runs again in a transaction of its own. */
  async function rejectOrSplit(jobs: readonly Job[], error: unknown): Promise<void> {
    const [job, ...otherJobs] = jobs
    if (otherJobs.length === 0 && !(error instanceof AnswerFailed))
      return job?.reject(error instanceof OperationFailed ? error.cause : error)
    if (error instanceof OperationFailed) for (const singleJob of jobs) await writeAll([singleJob], true)
    else for (const { reject } of jobs) reject(error)
  }

  async function waitForOthers(jobs: readonly Job[]): Promise<void> {
    const overlapping = [...running].filter(([, runningJobs]) => !jobs.some(job => runningJobs.includes(job)))
    await Promise.all(overlapping.map(([transaction]) => transaction))
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

/** Removes from the queue the jobs of the next transaction, in their order, and returns them. They may run while other transactions run. */
function dequeueJobs(queue: Job[], running: readonly Job[]): readonly Job[] {
  if (running.some(({ names }) => !names)) return []
  if (queue[0] && !queue[0].names) return running.length > 0 ? [] : dequeueUnnamed(queue)
  const busyNames = new Set(running.flatMap(namesOf))
  const isFull = createFullCheck()
  const end = queue.findIndex(job => !job.names || isFull(job))
  const candidates = queue.splice(0, end < 0 ? queue.length : end)
  const startable = candidates.filter(job => {
    const isFree = !namesOf(job).some(name => busyNames.has(name))
    // Later jobs with a common name have to wait, too.
    if (!isFree) for (const name of namesOf(job)) busyNames.add(name)
    return isFree
  })
  queue.unshift(...candidates.filter(job => !startable.includes(job)))
  return [...startable.filter(({ isLast }) => !isLast), ...startable.filter(({ isLast }) => isLast)]
}

/**
 * Returns the names of a job. Jobs with a common name never run at the same time. All polls share one, so that each sees the leases of the one
 * before.
 */
function namesOf({ names = [], isLast }: Job): readonly string[] {
  return isLast ? ['leases of this gateway'] : names
}

function dequeueUnnamed(queue: Job[]): readonly Job[] {
  const isFull = createFullCheck()
  const end = queue.findIndex(job => job.names !== undefined || isFull(job))
  return queue.splice(0, end < 0 ? queue.length : end)
}

/** Returns a test for a transaction that is too full for one more job. A single job may have any size. */
function createFullCheck(): (job: Job) => boolean {
  let [count, names, size] = [0, 0, 0]
  return job => {
    count += 1
    names += job.names?.length ?? 0
    size += job.size
    return count > 1 && (count > maxOperations || names > maxLocks || size > batchSize)
  }
}
