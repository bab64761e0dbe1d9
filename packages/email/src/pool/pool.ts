// Parses mail in a pool of worker threads, and replaces threads that die or hang.
import { Worker } from 'node:worker_threads'
import type { System } from '@postern/message'
import { Unavailable } from '@postern/message'
import type { MailLimits } from '../config/limits.ts'
import type { MimeJob, MimeResult } from '../mime/job.ts'
import { ownBytes } from '../mime/job.ts'
import type { MimeReply } from './worker.ts'

export type MimePool = ReturnType<typeof createMimePool>

interface PoolOptions extends Pick<PoolState, 'limits' | 'system'> {
  /** Another worker file, for tests. */
  readonly file?: URL | undefined
}

const workerFile = new URL('./worker-thread.mjs', import.meta.url)

/** Creates threads that read strangers' bytes. They start with the first message and are replaced when one dies. */
export function createMimePool({ limits, system, file = workerFile }: PoolOptions) {
  const seats = Array.from({ length: limits.parsers }, () => ({ worker: undefined, batch: [], rounds: 0 }))
  const queue: ParseTask[] = []
  const shutdown = new AbortController()
  const pool: PoolState = { limits, system, file, seats, queue, shutdown, isWatched: false, isFilling: false }
  return {
    /**
     * Runs a job and returns its result. It returns undefined if the message killed its thread or outlasted its time,
     * and did so again when it ran alone.
     * @throws Unavailable when too many messages wait already
     */
    run(job: MimeJob, sender: MailSender = {}): Promise<MimeResult | undefined> {
      if (shutdown.signal.aborted || queue.length >= limits.waiting) {
        throw new Unavailable('Cannot take mail: too many messages are waiting', { retryAfter: 30 })
      }
      return new Promise((resolve, reject) => {
        const giveUp = () => reject(new Unavailable('Cannot take mail: the gateway is shutting down'))
        const settle: ParseTask['settle'] = result => (shutdown.signal.aborted && !result ? giveUp() : resolve(result))
        queue.push({ job, ...sender, isSuspect: false, settle })
        fillSoon(pool)
      })
    },
    async close(): Promise<void> {
      shutdown.abort()
      for (const task of queue.splice(0)) task.settle(undefined)
      await Promise.all(pool.seats.map(seat => seat.worker?.terminate()))
    },
  }
}

/** The sender of a message, as far as it is known before the message is read. */
export interface MailSender {
  /** The network that the message came from. Messages of one network occupy one thread at a time. */
  readonly network?: string | undefined
  /** True if something proves the author already. */
  readonly isProven?: boolean | undefined
}

interface ParseTask extends MailSender {
  readonly job: MimeJob
  /**
   * True if the thread of the message died or hung. The message runs once more and alone, so that only the message to
   * blame is lost.
   */
  readonly isSuspect: boolean
  readonly settle: (result: MimeResult | undefined) => void
}

/** One thread and the batch in it. */
interface WorkerSlot {
  worker: Worker | undefined
  batch: readonly ParseTask[]
  /** The rounds of the watch since the batch began, or since the thread became idle. */
  rounds: number
}

/** The state of a pool: its threads, and the messages that wait for one. */
interface PoolState {
  readonly limits: MailLimits
  readonly system: Pick<System, 'sleep' | 'log'>
  readonly file: URL
  readonly seats: readonly WorkerSlot[]
  readonly queue: ParseTask[]
  readonly shutdown: AbortController
  isWatched: boolean
  isFilling: boolean
}

/** The rounds of the watch that a batch may run, and that a further thread may be idle. */
const roundsPerBatch = 10
/** The most messages and octets of a batch. Waking a thread costs as much as reading a small message. */
const [batchTasks, batchOctets] = [16, 256 * 1024]

function startWorker(pool: PoolState, seat: WorkerSlot): Worker {
  const { limits, system, file } = pool
  const resourceLimits = { maxOldGenerationSizeMb: limits.parse_memory_mb }
  const worker = new Worker(file, { resourceLimits, workerData: limits })
  const stop = (error?: unknown) => {
    if (seat.worker !== worker) return
    if (error) system.log.warn({ err: error }, 'a mail parser died')
    loseWorker(pool, seat)
  }
  worker.on('message', (replies: readonly MimeReply[]) => seat.worker === worker && settleBatch(pool, seat, replies))
  worker.on('error', stop)
  worker.on('exit', () => stop())
  return worker
}

function settleBatch(pool: PoolState, seat: WorkerSlot, replies: readonly MimeReply[]): void {
  const { log } = pool.system
  const { batch } = seat
  seat.batch = []
  seat.rounds = 0
  seat.worker?.unref()
  for (const [index, task] of batch.entries()) {
    const reply = replies[index]
    if (reply && 'error' in reply) log.warn({ error: reply.error }, 'a message could not be parsed')
    task.settle(reply && 'result' in reply ? reply.result : undefined)
  }
  fill(pool)
}

/** Gives the messages of a lost thread one more attempt, each alone. A message that loses its second thread too is to blame. */
function loseWorker(pool: PoolState, seat: WorkerSlot): void {
  const { queue, shutdown } = pool
  const { batch } = seat
  seat.worker = undefined
  seat.batch = []
  const isOver = ({ isSuspect }: ParseTask) => isSuspect || shutdown.signal.aborted
  for (const task of batch.filter(isOver)) task.settle(undefined)
  queue.unshift(...batch.filter(task => !isOver(task)).map(task => ({ ...task, isSuspect: true })))
  fill(pool)
}

/** Starts waiting jobs after this turn of the event loop, so that messages which arrive together share a batch. */
function fillSoon(pool: PoolState): void {
  if (pool.isFilling) return
  pool.isFilling = true
  setImmediate(() => {
    pool.isFilling = false
    fill(pool)
  })
}

function fill(pool: PoolState): void {
  const { seats, queue, shutdown } = pool
  for (const seat of seats) {
    if (shutdown.signal.aborted || seat.batch.length > 0 || queue.length === 0) continue
    if (!needsSeat(seats)) break
    const batch = takeBatch(pool)
    if (batch.length === 0) break
    seat.batch = batch
    seat.rounds = 0
    seat.worker ??= startWorker(pool, seat)
    seat.worker.ref()
    seat.worker.postMessage(seat.batch.map(({ job }) => ({ ...job, octets: ownBytes(job.octets) })))
  }
  void watch(pool)
}

/** Ends threads that take too long or are idle. All threads share one timer, because a timer for each message would cost more than it saves. */
async function watch(pool: PoolState): Promise<void> {
  const { seats, shutdown, system, limits } = pool
  if (pool.isWatched) return
  pool.isWatched = true
  while (seats.some(seat => isWatchable(pool, seat)) && !shutdown.signal.aborted) {
    await system.sleep(limits.parse_timeout_ms / roundsPerBatch, shutdown.signal)
    for (const seat of seats) await checkSeat(pool, seat)
    fill(pool)
  }
  pool.isWatched = false
}

/** Ends an idle thread, except the first one, because the next message would wait for a new one. */
function isWatchable({ seats }: PoolState, seat: WorkerSlot): boolean {
  return seat.batch.length > 0 || (seat.worker !== undefined && seat !== seats[0])
}

async function checkSeat(pool: PoolState, seat: WorkerSlot): Promise<void> {
  const { system, limits } = pool
  seat.rounds += 1
  if (!isWatchable(pool, seat) || seat.rounds <= roundsPerBatch) return
  const { worker, batch } = seat
  if (batch.length > 0) system.log.warn({ timeout_ms: limits.parse_timeout_ms }, 'a mail parser was stopped')
  loseWorker(pool, seat)
  await worker?.terminate()
}

/** Removes the next messages for one thread from the queue: several small ones, or one that is large or suspect. */
function takeBatch({ seats, queue }: PoolState): readonly ParseTask[] {
  const activeNetworks = new Set(seats.flatMap(({ batch }) => batch.map(({ network }) => network)))
  const ready = queue.filter(({ network }) => network === undefined || !activeNetworks.has(network))
  // A suspect message of an unproven author may cost another thread, so it waits until no other message does.
  const first = ready.find(({ isSuspect, isProven }) => !isSuspect || isProven) ?? ready[0]
  const batch = first?.isSuspect ? [first] : limitBatch(ready.filter(({ isSuspect }) => !isSuspect))
  const batchTasks = new Set(batch)
  queue.splice(0, queue.length, ...queue.filter(task => !batchTasks.has(task)))
  return batch
}

function limitBatch(tasks: readonly ParseTask[]): readonly ParseTask[] {
  let octets = 0
  const end = tasks.findIndex(({ job }, index) => {
    octets += job.octets.length
    return index > 0 && (index >= batchTasks || octets > batchOctets)
  })
  return tasks.slice(0, end < 0 ? tasks.length : end)
}

/**
 * Returns true if a further thread may start. A thread takes 40 to 60 MB, and two on few cores slow each other down. So a further one starts only if
 * each of the others has been reading one mail for long. A slow mail delays other mail no longer than that.
 */
function needsSeat(seats: readonly WorkerSlot[]): boolean {
  return seats.every(({ batch, rounds }) => batch.length === 0 || rounds > 1)
}
