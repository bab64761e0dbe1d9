import { Unavailable } from '@postern/core'

export interface KeyedSemaphoreOptions {
  /** How many may be inside at once, per key. */
  readonly width: number
  /** How many may wait, per key; the next one is turned away. */
  readonly queue: number
}

export interface KeyedSemaphore {
  /** Runs `task` as soon as there is room for `key`, or rejects with the signal's reason. */
  pass<Result>(key: string, signal: AbortSignal, task: () => Promise<Result>): Promise<Result>
}

interface KeyQueue {
  inside: number
  /** In the order of arrival; those who gave up take themselves out. */
  readonly waiting: Set<() => void>
}

/** Bounds how much runs at once per key. Holds nothing for a key that is idle. */
export function createKeyedSemaphore({ width, queue }: KeyedSemaphoreOptions): KeyedSemaphore {
  const lanes = new Map<string, KeyQueue>()

  function openQueue(key: string): KeyQueue {
    const lane = lanes.get(key) ?? { inside: 0, waiting: new Set() }
    lanes.set(key, lane)
    return lane
  }

  /** The place of the one who leaves goes to the next who waits. */
  function leave(key: string, lane: KeyQueue): void {
    const [next] = lane.waiting
    if (next) {
      lane.waiting.delete(next)
      next()
    } else if (--lane.inside === 0) {
      lanes.delete(key)
    }
  }

  return {
    async pass(key, signal, task) {
      const lane = openQueue(key)
      if (lane.inside < width) lane.inside += 1
      else if (lane.waiting.size < queue) await waitIn(lane.waiting, signal)
      else throw new Unavailable('Cannot fetch: too many requests wait for this host')
      try {
        return await task()
      } finally {
        leave(key, lane)
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
