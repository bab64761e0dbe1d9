// Groups writes into transactions of PostgreSQL that run at the same time.
import { OperationFailed } from '../../sqlite/write/transactions.ts'
import { batchSize, mostAtOnce } from '../../transaction/bounds.ts'
import type { Operation, Writer, WriterHooks, WriteTerms } from '../../transaction/writer.ts'
import { mostNames } from '../locks/named-locks.ts'
import type { Share, WriteTogether } from './transaction.ts'

interface Job extends Share {
  readonly size: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

type JobTerms = WriteTerms & Partial<Pick<Job, 'isDurable' | 'isLast'>>

/** The most transactions of one gateway at a time. More of them would share less, and each has a commit of its own. */
const mostTransactions = 2

/** The time for which writes gather while a transaction runs, ms. */
const gatherMs = 2

/**
 * Creates the writer. Writes that arrive together share a transaction, and several transactions run at a time. Of two writes with a common name the
 * later one begins after the end of the earlier one. A write without names waits for all earlier ones, and all later ones wait for it.
 */
export function createPostgresWriter(writeTogether: WriteTogether, hooks: WriterHooks): Writer {
  const queue: Job[] = []
  const transactions = createRunning(writeTogether, hooks)
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
    while (transactions.count() < mostTransactions) {
      const jobs = takeJobs(queue, transactions.listJobs())
      if (jobs.length === 0) break
      void transactions.run(jobs).then(writeNext)
    }
    if (transactions.count() === 0 && queue.length === 0) onIdle?.()
  }

  function enqueue<T>(operation: Operation<T>, { conflictKeys, size = 0, ...terms }: JobTerms): Promise<T> {
    const { isDurable = true, isLast = false } = terms
    return new Promise((resolve, reject) => {
      if (isClosed) return reject(new Error('the store is closed'))
      const told = { resolve: resolve as Job['resolve'], reject }
      queue.push({ operation, names: conflictKeys?.(), size, isDurable, isLast, ...told })
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

function createRunning(writeTogether: WriteTogether, { onDurable }: WriterHooks): RunningTransactions {
  const running = new Map<Promise<void>, readonly Job[]>()

  async function writeAll(jobs: readonly Job[]): Promise<void> {
    try {
      const { results, batch } = await writeTogether(jobs)
      const tell = (isLast: boolean) => {
        for (const [at, job] of jobs.entries()) if (job.isLast === isLast) job.resolve(results[at])
      }
      tell(false)
      onDurable(batch)
      // They may have leased work that another transaction has written. The writer of that work gets its result first.
      if (jobs.some(({ isLast }) => isLast)) void waitForOthers(jobs).then(() => tell(true))
    } catch (error) {
      await giveUp(jobs, error)
    }
  }

  /** Rejects the jobs. If one of them failed, each runs again in a transaction of its own. */
  async function giveUp(jobs: readonly Job[], error: unknown): Promise<void> {
    const [job, ...others] = jobs
    if (others.length === 0) return job?.reject(error instanceof OperationFailed ? error.cause : error)
    if (error instanceof OperationFailed) for (const each of jobs) await writeAll([each])
    else for (const { reject } of jobs) reject(error)
  }

  async function waitForOthers(jobs: readonly Job[]): Promise<void> {
    const overlapping = [...running].filter(([, theirs]) => !jobs.some(job => theirs.includes(job)))
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

/** Removes from the queue the jobs of the next transaction. They may run beside the running ones, and keep their order. */
function takeJobs(queue: Job[], running: readonly Job[]): readonly Job[] {
  if (running.some(({ names }) => !names)) return []
  if (queue[0] && !queue[0].names) return running.length > 0 ? [] : takeUnnamed(queue)
  const busy = new Set(running.flatMap(namesOf))
  const isFull = createFill()
  const end = queue.findIndex(job => !job.names || isFull(job))
  const first = queue.splice(0, end < 0 ? queue.length : end)
  const taken = first.filter(job => {
    const isFree = !namesOf(job).some(name => busy.has(name))
    // Later jobs with a common name have to wait, too.
    if (!isFree) for (const name of namesOf(job)) busy.add(name)
    return isFree
  })
  queue.unshift(...first.filter(job => !taken.includes(job)))
  return [...taken.filter(({ isLast }) => !isLast), ...taken.filter(({ isLast }) => isLast)]
}

/**
 * Returns the names of a job. Jobs with a common name never run at the same time. All polls share one, so that each sees the leases of the one
 * before.
 */
function namesOf({ names = [], isLast }: Job): readonly string[] {
  return isLast ? ['leases of this gateway'] : names
}

function takeUnnamed(queue: Job[]): readonly Job[] {
  const isFull = createFill()
  const end = queue.findIndex(job => job.names !== undefined || isFull(job))
  return queue.splice(0, end < 0 ? queue.length : end)
}

/** Returns a test for a transaction that is too full for one more job. A single job may have any size. */
function createFill(): (job: Job) => boolean {
  let [count, names, size] = [0, 0, 0]
  return job => {
    count += 1
    names += job.names?.length ?? 0
    size += job.size
    return count > 1 && (count > mostAtOnce || names > mostNames || size > batchSize)
  }
}
