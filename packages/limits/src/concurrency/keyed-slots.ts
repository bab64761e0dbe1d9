// Counts the running tasks of each key, and queues a limited number of others.

export interface SemaphoreOptions {
  /** The most running tasks for each key. */
  readonly width: number
  /** The most waiting tasks for each key; a further one is refused. */
  readonly queue: number
}

interface KeyQueue {
  inside: number
  /** The waiting tasks in the order of arrival; tasks that give up remove themselves. */
  readonly waiting: Set<() => void>
}

/** Creates the slots of each key. An idle key uses no memory. */
export function createKeyedSlots({ width, queue }: SemaphoreOptions, refuse: () => Error) {
  const queues = new Map<string, KeyQueue>()
  return {
    /** Takes a slot, or returns the wait for one if none is free. @throws the error of `refuse` when too many tasks wait */
    enter(key: string, signal?: AbortSignal): Promise<void> | undefined {
      const queued = queues.get(key) ?? { inside: 0, waiting: new Set() }
      queues.set(key, queued)
      if (queued.inside >= width) {
        if (queued.waiting.size >= queue) throw refuse()
        return waitIn(queued.waiting, signal)
      }
      queued.inside += 1
      return undefined
    },
    /** Gives the slot to the next waiting task. */
    leave(key: string): void {
      const queued = queues.get(key)
      const [next] = queued?.waiting ?? []
      if (next) next()
      else if (queued && --queued.inside === 0) queues.delete(key)
    },
  }
}

function waitIn(waiting: Set<() => void>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      waiting.delete(enter)
      reject(signal?.reason)
    }
    const enter = () => {
      waiting.delete(enter)
      signal?.removeEventListener('abort', giveUp)
      resolve()
    }
    if (signal?.aborted) return reject(signal.reason)
    waiting.add(enter)
    signal?.addEventListener('abort', giveUp, { once: true })
  })
}
