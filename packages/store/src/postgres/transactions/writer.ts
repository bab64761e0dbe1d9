import { mostAtOnce } from '../../engine/database.ts'
import { OperationFailed } from '../../engine/transactions.ts'
import type { Operation, Writer, WriterHooks, WriteTerms } from '../../engine/writer.ts'
import { batchSize } from '../../engine/writer.ts'
import { mostNames } from '../locks/named-locks.ts'
import type { Share, WriteTogether } from './transaction.ts'

interface Job extends Share {
  readonly size: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

type JobTerms = WriteTerms & Partial<Pick<Job, 'isDurable' | 'isLast'>>

/** Transactions of one gateway at a time. More of them share less, and each has a commit of its own. */
const mostTransactions = 2

/** How long writes gather while a transaction runs, ms. */
const gatherMs = 2

/**
 * Writes that come together share a transaction, and several transactions run at a time. Of two writes that touch the same the later one begins when
 * the earlier one has ended. One that does not say what it touches waits for all before it, and all behind it wait for it.
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
    // Alone, a write goes at once; in company it waits a moment for more of it.
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

  function enqueue<T>(operation: Operation<T>, { touches, size = 0, ...terms }: JobTerms): Promise<T> {
    const { isDurable = true, isLast = false } = terms
    return new Promise((resolve, reject) => {
      if (isClosed) return reject(new Error('the store is closed'))
      const told = { resolve: resolve as Job['resolve'], reject }
      queue.push({ operation, names: touches?.(), size, isDurable, isLast, ...told })
      schedule()
    })
  }

  return {
    write: (operation, terms = {}) => enqueue(operation, terms),
    writeLightly: (operation, terms = {}) => enqueue(operation, { ...terms, isDurable: false }),
    writeLast: operation => enqueue(operation, { isDurable: false, isLast: true, touches: () => [] }),
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
  /** Resolves when all of them know what came of them. */
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
      // They may have leased what another transaction has written: whoever wrote that hears of it first.
      if (jobs.some(({ isLast }) => isLast)) void waitForOthers(jobs).then(() => tell(true))
    } catch (error) {
      await giveUp(jobs, error)
    }
  }

  /** One that fails does not take the others with it. */
  async function giveUp(jobs: readonly Job[], error: unknown): Promise<void> {
    const [job, ...others] = jobs
    if (others.length === 0) return job?.reject(error instanceof OperationFailed ? error.cause : error)
    if (error instanceof OperationFailed) for (const each of jobs) await writeAll([each])
    else for (const { reject } of jobs) reject(error)
  }

  async function waitForOthers(jobs: readonly Job[]): Promise<void> {
    const others = [...running].filter(([, theirs]) => !jobs.some(job => theirs.includes(job)))
    await Promise.all(others.map(([transaction]) => transaction))
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

/** Takes what may run beside what is running, in one transaction, in the order of the queue. */
function takeJobs(queue: Job[], running: readonly Job[]): readonly Job[] {
  if (running.some(({ names }) => !names)) return []
  if (queue[0] && !queue[0].names) return running.length > 0 ? [] : takeUnnamed(queue)
  const busy = new Set(running.flatMap(namesOf))
  const isFull = createFill()
  const end = queue.findIndex(job => !job.names || isFull(job))
  const first = queue.splice(0, end < 0 ? queue.length : end)
  const taken = first.filter(job => {
    const isFree = !namesOf(job).some(name => busy.has(name))
    // Those behind it that touch the same wait, too.
    if (!isFree) for (const name of namesOf(job)) busy.add(name)
    return isFree
  })
  queue.unshift(...first.filter(job => !taken.includes(job)))
  return [...taken.filter(({ isLast }) => !isLast), ...taken.filter(({ isLast }) => isLast)]
}

/** What two transactions may not have at a time. Leases: each sees what the one before has taken. */
function namesOf({ names = [], isLast }: Job): readonly string[] {
  return isLast ? ['leases of this gateway'] : names
}

function takeUnnamed(queue: Job[]): readonly Job[] {
  const isFull = createFill()
  const end = queue.findIndex(job => job.names !== undefined || isFull(job))
  return queue.splice(0, end < 0 ? queue.length : end)
}

/** Whether a transaction is too full for one more; one may be as large as it is. */
function createFill(): (job: Job) => boolean {
  let [count, names, size] = [0, 0, 0]
  return job => {
    count += 1
    names += job.names?.length ?? 0
    size += job.size
    return count > 1 && (count > mostAtOnce || names > mostNames || size > batchSize)
  }
}
