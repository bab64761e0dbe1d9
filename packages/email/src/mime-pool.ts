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
}

export interface PoolOptions {
  readonly limits: MailLimits
  readonly world: Pick<World, 'sleep' | 'log'>
  /** Another worker file, for tests. */
  readonly file?: URL | undefined
}

const workerFile = new URL('./mime-worker.ts', import.meta.url)

/** Threads start with the first message and are replaced when one dies. */
export function createMimePool({ limits, world, file = workerFile }: PoolOptions): MimePool {
  const seats: Seat[] = Array.from({ length: limits.parsers }, () => ({ worker: undefined, task: undefined }))
  const waiting: Task[] = []
  let isClosed = false

  function startWorker(seat: Seat): Worker {
    const worker = new Worker(file, { resourceLimits: { maxOldGenerationSizeMb: limits.parse_memory_mb } })
    const stop = (error?: unknown) => {
      if (seat.worker !== worker) return
      seat.worker = undefined
      if (error) world.log.warn({ err: error }, 'a mail parser died')
      finish(seat, undefined)
    }
    worker.on('message', (reply: MimeReply) => hear(seat, reply))
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
      if (isClosed || seat.task) continue
      const task = waiting.shift()
      if (!task) return
      seat.task = task
      seat.worker ??= startWorker(seat)
      seat.worker.ref()
      seat.worker.postMessage(task.job)
      void watch(seat, task)
    }
  }

  /** Kills the thread of a message that takes too long. */
  async function watch(seat: Seat, task: Task): Promise<void> {
    const done = new AbortController()
    const settle = (result: MimeResult | undefined) => {
      done.abort()
      task.settle(result)
    }
    seat.task = { ...task, settle }
    await world.sleep(limits.parse_timeout_ms, done.signal)
    if (done.signal.aborted) return
    world.log.warn({ timeout_ms: limits.parse_timeout_ms }, 'a mail parser was stopped')
    await seat.worker?.terminate()
  }

  return {
    run(job) {
      if (isClosed || waiting.length >= limits.waiting) {
        throw new Unavailable('Cannot take mail: too many messages are waiting', { retryAfter: 30 })
      }
      return new Promise((resolve, reject) => {
        const giveUp = () => reject(new Unavailable('Cannot take mail: the gateway is shutting down'))
        waiting.push({ job, settle: result => (isClosed && !result ? giveUp() : resolve(result)) })
        fill()
      })
    },
    async close() {
      isClosed = true
      for (const task of waiting.splice(0)) task.settle(undefined)
      await Promise.all(seats.map(seat => seat.worker?.terminate()))
    },
  }
}
