import { Worker } from 'node:worker_threads'
import type { Platform } from '@postern/core'
import { Unavailable } from '@postern/core'
import type { MailLimits } from '../config/limits.ts'
import type { MimeJob, MimeResult } from './job.ts'
import { ownBytes } from './job.ts'
import type { MimeReply } from './worker.ts'

export type MimePool = ReturnType<typeof createMimePool>

interface PoolOptions extends Pick<PoolState, 'limits' | 'platform'> {
  /** Another worker file, for tests. */
  readonly file?: URL | undefined
}

const workerFile = new URL('./worker-thread.mjs', import.meta.url)

/** Threads that read strangers' bytes. They start with the first message and are replaced when one dies. */
export function createMimePool({ limits, platform, file = workerFile }: PoolOptions) {
  const seats = Array.from({ length: limits.parsers }, () => ({ worker: undefined, batch: [], rounds: 0 }))
  const waiting: ParseTask[] = []
  const closing = new AbortController()
  const pool: PoolState = { limits, platform, file, seats, waiting, closing, isWatched: false, isFilling: false }
  return {
    /**
     * The result. Undefined when the message killed its thread or outlasted its time, and did so again when it was alone.
     * @throws Unavailable when too many messages wait already
     */
    run(job: MimeJob): Promise<MimeResult | undefined> {
      if (closing.signal.aborted || waiting.length >= limits.waiting) {
        throw new Unavailable('Cannot take mail: too many messages are waiting', { retryAfter: 30 })
      }
      return new Promise((resolve, reject) => {
        const giveUp = () => reject(new Unavailable('Cannot take mail: the gateway is shutting down'))
        const settle: ParseTask['settle'] = result => (closing.signal.aborted && !result ? giveUp() : resolve(result))
        waiting.push({ job, isSuspect: false, settle })
        fillSoon(pool)
      })
    },
    async close(): Promise<void> {
      closing.abort()
      for (const task of waiting.splice(0)) task.settle(undefined)
      await Promise.all(pool.seats.map(seat => seat.worker?.terminate()))
    },
  }
}

interface ParseTask {
  readonly job: MimeJob
  /** Its thread died or hung. It runs once more and alone, so that only the message to blame is lost. */
  readonly isSuspect: boolean
  readonly settle: (result: MimeResult | undefined) => void
}

/** One thread and the batch in it. */
interface Seat {
  worker: Worker | undefined
  batch: readonly ParseTask[]
  /** Rounds of the watch since the batch began, or since the thread became idle. */
  rounds: number
}

/** The state of a pool: its threads, and the messages that wait for one. */
interface PoolState {
  readonly limits: MailLimits
  readonly platform: Pick<Platform, 'sleep' | 'log'>
  readonly file: URL
  readonly seats: readonly Seat[]
  readonly waiting: ParseTask[]
  readonly closing: AbortController
  isWatched: boolean
  isFilling: boolean
}

/** Space for values that live as long as one message. V8 never gives it back, so each thread holds all of it. */
const youngMb = 16
/** Rounds of the watch that a batch may run, and that a further thread may be idle. */
const roundsPerBatch = 10
/** A thread is woken for several small messages at once: waking it costs as much as reading one. */
const [batchTasks, batchOctets] = [16, 256 * 1024]

function startWorker(pool: PoolState, seat: Seat): Worker {
  const { limits, platform, file } = pool
  const resourceLimits = { maxOldGenerationSizeMb: limits.parse_memory_mb, maxYoungGenerationSizeMb: youngMb }
  const worker = new Worker(file, { resourceLimits, workerData: limits })
  const stop = (error?: unknown) => {
    if (seat.worker !== worker) return
    if (error) platform.log.warn({ err: error }, 'a mail parser died')
    loseWorker(pool, seat)
  }
  worker.on('message', (replies: readonly MimeReply[]) => seat.worker === worker && settleBatch(pool, seat, replies))
  worker.on('error', stop)
  worker.on('exit', () => stop())
  return worker
}

function settleBatch(pool: PoolState, seat: Seat, replies: readonly MimeReply[]): void {
  const { log } = pool.platform
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

/** The thread is gone. Its messages get one more chance, alone; one that loses that too is to blame. */
function loseWorker(pool: PoolState, seat: Seat): void {
  const { waiting, closing } = pool
  const { batch } = seat
  seat.worker = undefined
  seat.batch = []
  const isOver = ({ isSuspect }: ParseTask) => isSuspect || closing.signal.aborted
  for (const task of batch.filter(isOver)) task.settle(undefined)
  waiting.unshift(...batch.filter(task => !isOver(task)).map(task => ({ ...task, isSuspect: true })))
  fill(pool)
}

/** Fills the seats after this turn of the event loop, so that messages which arrive together share a batch. */
function fillSoon(pool: PoolState): void {
  if (pool.isFilling) return
  pool.isFilling = true
  setImmediate(() => {
    pool.isFilling = false
    fill(pool)
  })
}

function fill(pool: PoolState): void {
  const { seats, waiting, closing } = pool
  for (const seat of seats) {
    if (closing.signal.aborted || seat.batch.length > 0 || waiting.length === 0) continue
    if (!needsSeat(seats)) break
    seat.batch = takeBatch(waiting)
    seat.rounds = 0
    seat.worker ??= startWorker(pool, seat)
    seat.worker.ref()
    seat.worker.postMessage(seat.batch.map(({ job }) => ({ ...job, octets: ownBytes(job.octets) })))
  }
  void watch(pool)
}

/** Ends threads that take too long or are idle. They share one timer: one for each message would cost more than it guards. */
async function watch(pool: PoolState): Promise<void> {
  const { seats, closing, platform, limits } = pool
  if (pool.isWatched) return
  pool.isWatched = true
  while (seats.some(seat => isWatchable(pool, seat)) && !closing.signal.aborted) {
    await platform.sleep(limits.parse_timeout_ms / roundsPerBatch, closing.signal)
    for (const seat of seats) await checkSeat(pool, seat)
    fill(pool)
  }
  pool.isWatched = false
}

/** The first thread stays when it is idle, because the next message would wait for a new one. */
function isWatchable({ seats }: PoolState, seat: Seat): boolean {
  return seat.batch.length > 0 || (seat.worker !== undefined && seat !== seats[0])
}

async function checkSeat(pool: PoolState, seat: Seat): Promise<void> {
  const { platform, limits } = pool
  seat.rounds += 1
  if (!isWatchable(pool, seat) || seat.rounds <= roundsPerBatch) return
  const { worker, batch } = seat
  if (batch.length > 0) platform.log.warn({ timeout_ms: limits.parse_timeout_ms }, 'a mail parser was stopped')
  loseWorker(pool, seat)
  await worker?.terminate()
}

/** The next messages for one thread: several small ones, or one that is large or suspect. */
function takeBatch(waiting: ParseTask[]): readonly ParseTask[] {
  let octets = 0
  const end = waiting.findIndex(({ job, isSuspect }, index) => {
    octets += job.octets.length
    return index > 0 && (isSuspect || waiting[0]?.isSuspect || index >= batchTasks || octets > batchOctets)
  })
  return waiting.splice(0, end < 0 ? waiting.length : end)
}

/**
 * A thread takes 40 to 60 MB, and two on few cores take time from each other. So a further one starts only when each of the others has been
 * reading one mail for long. A slow mail delays other mail no longer than that.
 */
function needsSeat(seats: readonly Seat[]): boolean {
  return seats.every(({ batch, rounds }) => batch.length === 0 || rounds > 1)
}
