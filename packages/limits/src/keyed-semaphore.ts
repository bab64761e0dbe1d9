import { Unavailable } from '@postern/core'

export interface KeyedSemaphoreOptions {
  /** The maximum of running tasks, per key. */
  readonly width: number
  /** The maximum of waiting tasks, per key; a further one is refused. */
  readonly queue: number
}

export interface KeyedSemaphore {
  /** Runs `task` as soon as a slot of `key` is free, or rejects with the signal's reason. */
  pass<Result>(key: string, signal: AbortSignal, task: () => Promise<Result>): Promise<Result>
}

interface KeyQueue {
  inside: number
  /** In the order of arrival; tasks that give up remove themselves. */
  readonly waiting: Set<() => void>
}

/** Bounds the tasks that run at once, per key. Holds nothing for a key that is idle. */
export function createKeyedSemaphore({ width, queue }: KeyedSemaphoreOptions): KeyedSemaphore {
  const queues = new Map<string, KeyQueue>()

  function openQueue(key: string): KeyQueue {
    const queued = queues.get(key) ?? { inside: 0, waiting: new Set() }
    queues.set(key, queued)
    return queued
  }

  /** The slot goes to the next waiting task. */
  function leave(key: string, queued: KeyQueue): void {
    const [next] = queued.waiting
    if (next) {
      queued.waiting.delete(next)
      next()
    } else if (--queued.inside === 0) {
      queues.delete(key)
    }
  }

  return {
    async pass(key, signal, task) {
      const queued = openQueue(key)
      if (queued.inside < width) queued.inside += 1
      else if (queued.waiting.size < queue) await waitIn(queued.waiting, signal)
      else throw new Unavailable('Cannot fetch: too many requests wait for this host')
      try {
        return await task()
      } finally {
        leave(key, queued)
      }
    },
  }
}

function waitIn(waiting: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      waiting.delete(enter)
      reject(signal.reason)
    }
    const enter = () => {
      signal.removeEventListener('abort', giveUp)
      resolve()
    }
    if (signal.aborted) return reject(signal.reason)
    waiting.add(enter)
    signal.addEventListener('abort', giveUp, { once: true })
  })
}
