// Limits the tasks that run concurrently for each key.

import { Unavailable } from '@postern/message/errors'
import type { SemaphoreOptions } from './keyed-slots.ts'
import { createKeyedSlots } from './keyed-slots.ts'

interface KeyedSemaphore {
  /** Runs `task` as soon as a slot of `key` is free, or rejects with the signal's reason. */
  run<Result>(key: string, signal: AbortSignal, task: () => Promise<Result>): Promise<Result>
}

/** Creates a limit on the concurrent tasks of each key. */
export function createKeyedSemaphore(options: SemaphoreOptions): KeyedSemaphore {
  const refuse = () => new Unavailable('Cannot fetch: too many requests wait for this host')
  const slots = createKeyedSlots(options, refuse)
  return {
    async run(key, signal, task) {
      const slotWait = slots.acquire(key, signal)
      if (slotWait) await slotWait
      try {
        return await task()
      } finally {
        slots.release(key)
      }
    },
  }
}
