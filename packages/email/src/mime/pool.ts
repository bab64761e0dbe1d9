import type { Platform } from '@postern/core'
import { Unavailable } from '@postern/core'
import type { MailLimits } from '../config/limits.ts'
import type { MimeJob, MimeResult } from './job.ts'
import type { ParseTask, PoolState } from './seats.ts'
import { fillSoon } from './seats.ts'

/** Threads that read strangers' bytes. */
export interface MimePool {
  /**
   * The result. Undefined when the message killed its thread or outlasted its time, and did so again when it was alone.
   * @throws Unavailable when too many messages wait already
   */
  run(job: MimeJob): Promise<MimeResult | undefined>
  close(): Promise<void>
}

interface PoolOptions {
  readonly limits: MailLimits
  readonly platform: Pick<Platform, 'sleep' | 'log'>
  /** Another worker file, for tests. */
  readonly file?: URL | undefined
}

const workerFile = new URL('./worker-thread.mjs', import.meta.url)

/** Threads start with the first message and are replaced when one dies. */
export function createMimePool({ limits, platform, file = workerFile }: PoolOptions): MimePool {
  const seats = Array.from({ length: limits.parsers }, () => ({ worker: undefined, batch: [], rounds: 0 }))
  const waiting: ParseTask[] = []
  const closing = new AbortController()
  const pool: PoolState = { limits, platform, file, seats, waiting, closing, isWatched: false, isFilling: false }
  return {
    run(job) {
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
    async close() {
      closing.abort()
      for (const task of waiting.splice(0)) task.settle(undefined)
      await Promise.all(pool.seats.map(seat => seat.worker?.terminate()))
    },
  }
}
