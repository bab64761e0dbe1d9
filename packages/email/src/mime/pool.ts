import { Worker } from 'node:worker_threads'
import type { Platform } from '@postern/core'
import { Unavailable } from '@postern/core'
import type { MailLimits } from '../config/limits.ts'
import type { MimeJob, MimeResult } from './job.ts'
import { ownBytes } from './own-bytes.ts'
import type { MimeReply } from './worker.ts'

/** Threads that read strangers' bytes. */
export interface MimePool {
  /**
   * The result, or undefined when the message killed its thread, or outlasted its time, and did so again when it was alone.
   * @throws Unavailable when too many messages wait already
   */
  run(job: MimeJob): Promise<MimeResult | undefined>
  close(): Promise<void>
}

interface Task {
  readonly job: MimeJob
  /** It was in a thread that died or hung: it goes once more and alone, so that only the one to blame is lost. */
  readonly isSuspect: boolean
  readonly settle: (result: MimeResult | undefined) => void
}

/** One thread and the batch in it. */
interface Seat {
  worker: Worker | undefined
  batch: readonly Task[]
  /** Rounds of the watch the batch has been in work for, or the thread without one. */
  rounds: number
}

interface PoolOptions {
  readonly limits: MailLimits
  readonly platform: Pick<Platform, 'sleep' | 'log'>
  /** Another worker file, for tests. */
  readonly file?: URL | undefined
}

/** Room for what lives as long as one message. V8 keeps what it once took: each thread holds all of it. */
const youngMb = 16
/** How often the watch looks in while a batch may run, and before a further thread that has none is ended. */
const roundsPerBatch = 10
/** A thread is woken for several small messages at once: waking it costs as much as reading one. */
const [batchTasks, batchOctets] = [16, 256 * 1024]

const workerFile = new URL('./worker-thread.mjs', import.meta.url)

/** Threads start with the first message and are replaced when one dies. */
export function createMimePool({ limits, platform, file = workerFile }: PoolOptions): MimePool {
  const seats: Seat[] = Array.from({ length: limits.parsers }, () => ({ worker: undefined, batch: [], rounds: 0 }))
  const waiting: Task[] = []
  const closing = new AbortController()
  let isWatched = false
  let isFilling = false

  function startWorker(seat: Seat): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: limits.parse_memory_mb, maxYoungGenerationSizeMb: youngMb }
    const worker = new Worker(file, { resourceLimits, workerData: limits })
    const stop = (error?: unknown) => {
      if (seat.worker !== worker) return
      if (error) platform.log.warn({ err: error }, 'a mail parser died')
      loseWorker(seat)
    }
    worker.on('message', (replies: readonly MimeReply[]) => seat.worker === worker && hear(seat, replies))
    worker.on('error', stop)
    worker.on('exit', () => stop())
    return worker
  }

  function hear(seat: Seat, replies: readonly MimeReply[]): void {
    const { batch } = seat
    seat.batch = []
    seat.rounds = 0
    seat.worker?.unref()
    for (const [index, task] of batch.entries()) {
      const reply = replies[index]
      if (reply && 'error' in reply) platform.log.warn({ error: reply.error }, 'a message could not be parsed')
      task.settle(reply && 'result' in reply ? reply.result : undefined)
    }
    fill()
  }

  /** The thread is gone. Whoever was in it gets one more chance, alone; who loses that too is to blame. */
  function loseWorker(seat: Seat): void {
    const { batch } = seat
    seat.worker = undefined
    seat.batch = []
    const isOver = ({ isSuspect }: Task) => isSuspect || closing.signal.aborted
    for (const task of batch.filter(isOver)) task.settle(undefined)
    waiting.unshift(...batch.filter(task => !isOver(task)).map(task => ({ ...task, isSuspect: true })))
    fill()
  }

  /** After whatever else this turn of the event loop brings. */
  function fillSoon(): void {
    if (isFilling) return
    isFilling = true
    setImmediate(() => {
      isFilling = false
      fill()
    })
  }

  function fill(): void {
    for (const seat of seats) {
      if (closing.signal.aborted || seat.batch.length > 0 || waiting.length === 0) continue
      if (!needsSeat(seats)) break
      seat.batch = takeBatch(waiting)
      seat.rounds = 0
      seat.worker ??= startWorker(seat)
      seat.worker.ref()
      seat.worker.postMessage(seat.batch.map(({ job }) => ({ ...job, octets: ownBytes(job.octets) })))
    }
    void watch()
  }

  /** Ends threads that take too long, or have nothing to do. One clock for all: a timer for each message would cost more than it guards. */
  async function watch(): Promise<void> {
    if (isWatched) return
    isWatched = true
    while (seats.some(isWatchable) && !closing.signal.aborted) {
      await platform.sleep(limits.parse_timeout_ms / roundsPerBatch, closing.signal)
      for (const seat of seats) await look(seat)
      fill()
    }
    isWatched = false
  }

  /** The first thread stays when it rests: the next message would wait for a new one. */
  function isWatchable(seat: Seat): boolean {
    return seat.batch.length > 0 || (seat.worker !== undefined && seat !== seats[0])
  }

  async function look(seat: Seat): Promise<void> {
    seat.rounds += 1
    if (!isWatchable(seat) || seat.rounds <= roundsPerBatch) return
    const { worker, batch } = seat
    if (batch.length > 0) platform.log.warn({ timeout_ms: limits.parse_timeout_ms }, 'a mail parser was stopped')
    loseWorker(seat)
    await worker?.terminate()
  }

  return {
    run(job) {
      if (closing.signal.aborted || waiting.length >= limits.waiting) {
        throw new Unavailable('Cannot take mail: too many messages are waiting', { retryAfter: 30 })
      }
      return new Promise((resolve, reject) => {
        const giveUp = () => reject(new Unavailable('Cannot take mail: the gateway is shutting down'))
        const settle: Task['settle'] = result => (closing.signal.aborted && !result ? giveUp() : resolve(result))
        waiting.push({ job, isSuspect: false, settle })
        fillSoon()
      })
    },
    async close() {
      closing.abort()
      for (const task of waiting.splice(0)) task.settle(undefined)
      await Promise.all(seats.map(seat => seat.worker?.terminate()))
    },
  }
}

/** The next messages for one thread: small ones together, a large or suspect one alone. */
function takeBatch(waiting: Task[]): readonly Task[] {
  let octets = 0
  const end = waiting.findIndex(({ job, isSuspect }, index) => {
    octets += job.octets.length
    return index > 0 && (isSuspect || waiting[0]?.isSuspect || index >= batchTasks || octets > batchOctets)
  })
  return waiting.splice(0, end < 0 ? waiting.length : end)
}

/**
 * A thread takes 40 to 60 MB, and two on few cores take time from each other. So a further one works only when each of the others is in
 * one mail for long: whoever sends a slow mail holds up nobody else's for more than that.
 */
function needsSeat(seats: readonly Seat[]): boolean {
  return seats.every(({ batch, rounds }) => batch.length === 0 || rounds > 1)
}
