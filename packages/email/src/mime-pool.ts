import { Worker } from 'node:worker_threads'
import type { World } from '@postern/core'
import { Unavailable } from '@postern/core'
import type { MailLimits } from './config.ts'
import type { MimeJob, MimeResult } from './mime-job.ts'
import type { MimeReply } from './mime-worker.ts'

/** Threads that read strangers' bytes. */
export interface MimePool {
  /**
   * The result, or undefined when the message killed its thread or outlasted its time.
   * @throws Unavailable when too many messages wait already
   */
  run(job: MimeJob): Promise<MimeResult | undefined>
  close(): Promise<void>
}

interface Task {
  readonly job: MimeJob
  readonly settle: (result: MimeResult | undefined) => void
}

/** One thread, at most one message in it, so that a killer costs nobody else's mail. */
interface Seat {
  worker: Worker | undefined
  task: Task | undefined
  /** Rounds of the watch the task has been in work for. */
  rounds: number
}

export interface PoolOptions {
  readonly limits: MailLimits
  readonly world: Pick<World, 'sleep' | 'log'>
  /** Another worker file, for tests. */
  readonly file?: URL | undefined
}

/** Room for what lives as long as one message; with less, collecting it costs a tenth of all time. */
const youngMb = 64
/** How often the watch looks in while a message may run. */
const roundsPerTask = 10

const workerFile = new URL('./mime-worker.ts', import.meta.url)

/** Threads start with the first message and are replaced when one dies. */
export function createMimePool({ limits, world, file = workerFile }: PoolOptions): MimePool {
  const seats: Seat[] = Array.from({ length: limits.parsers }, () => ({
    worker: undefined,
    task: undefined,
    rounds: 0,
  }))
  const waiting: Task[] = []
  const closing = new AbortController()
  let isWatched = false

  function startWorker(seat: Seat): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: limits.parse_memory_mb, maxYoungGenerationSizeMb: youngMb }
    const worker = new Worker(file, { resourceLimits, workerData: limits })
    const stop = (error?: unknown) => {
      if (seat.worker !== worker) return
      seat.worker = undefined
      if (error) world.log.warn({ err: error }, 'a mail parser died')
      finish(seat, undefined)
    }
    worker.on('message', (reply: MimeReply) => seat.worker === worker && hear(seat, reply))
    worker.on('error', stop)
    worker.on('exit', () => stop())
    return worker
  }

  function hear(seat: Seat, reply: MimeReply): void {
    if ('error' in reply) world.log.warn({ error: reply.error }, 'a message could not be parsed')
    finish(seat, 'result' in reply ? reply.result : undefined)
  }

  function finish(seat: Seat, result: MimeResult | undefined): void {
    const { task } = seat
    seat.task = undefined
    seat.worker?.unref()
    task?.settle(result)
    fill()
  }

  function fill(): void {
    for (const seat of seats) {
      if (closing.signal.aborted || seat.task) continue
      const task = waiting.shift()
      if (!task) break
      seat.task = task
      seat.rounds = 0
      seat.worker ??= startWorker(seat)
      seat.worker.ref()
      seat.worker.postMessage(task.job)
    }
    void watch()
  }

  /** Kills the threads of messages that take too long. One clock for all: a timer for each would cost more than it guards. */
  async function watch(): Promise<void> {
    if (isWatched) return
    isWatched = true
    while (seats.some(({ task }) => task) && !closing.signal.aborted) {
      await world.sleep(limits.parse_timeout_ms / roundsPerTask, closing.signal)
      for (const seat of seats) await endOverdue(seat)
    }
    isWatched = false
  }

  async function endOverdue(seat: Seat): Promise<void> {
    seat.rounds += 1
    if (!seat.task || seat.rounds <= roundsPerTask) return
    world.log.warn({ timeout_ms: limits.parse_timeout_ms }, 'a mail parser was stopped')
    const { worker } = seat
    seat.worker = undefined
    finish(seat, undefined)
    await worker?.terminate()
  }

  return {
    run(job) {
      if (closing.signal.aborted || waiting.length >= limits.waiting) {
        throw new Unavailable('Cannot take mail: too many messages are waiting', { retryAfter: 30 })
      }
      return new Promise((resolve, reject) => {
        const giveUp = () => reject(new Unavailable('Cannot take mail: the gateway is shutting down'))
        waiting.push({ job, settle: result => (closing.signal.aborted && !result ? giveUp() : resolve(result)) })
        fill()
      })
    },
    async close() {
      closing.abort()
      for (const task of waiting.splice(0)) task.settle(undefined)
      await Promise.all(seats.map(seat => seat.worker?.terminate()))
    },
  }
}
