// Counts the running tasks of each key, and queues a limited number of others.

export interface SemaphoreOptions {
  /** The maximum number of running tasks for each key. */
  readonly maxRunning: number
  /** The maximum number of waiting tasks for each key. Further tasks are refused. */
  readonly maxWaiting: number
}

interface KeyQueue {
  runningCount: number
  /** The waiting tasks in the order of arrival. Tasks that give up remove themselves. */
  readonly waiters: Set<() => void>
}

/** Creates the slots of each key. An idle key uses no memory. */
export function createKeyedSlots({ maxRunning, maxWaiting }: SemaphoreOptions, refuse: () => Error) {
  const queues = new Map<string, KeyQueue>()
  return {
    /**
     * Acquires a slot at once, or returns a promise that resolves when one is free.
     * @throws the error of `refuse` when too many tasks wait
     */
    acquire(key: string, signal?: AbortSignal): Promise<void> | undefined {
      const keyQueue = queues.get(key) ?? { runningCount: 0, waiters: new Set() }
      queues.set(key, keyQueue)
      if (keyQueue.runningCount >= maxRunning) {
        if (keyQueue.waiters.size >= maxWaiting) throw refuse()
        return waitForSlot(keyQueue.waiters, signal)
      }
      keyQueue.runningCount += 1
      return undefined
    },
    /** Gives the slot to the next waiting task. */
    release(key: string): void {
      const keyQueue = queues.get(key)
      const [startNext] = keyQueue?.waiters ?? []
      if (startNext) startNext()
      else if (keyQueue && --keyQueue.runningCount === 0) queues.delete(key)
    },
  }
}

function waitForSlot(waiters: Set<() => void>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      waiters.delete(proceed)
      reject(signal?.reason)
    }
    const proceed = () => {
      waiters.delete(proceed)
      signal?.removeEventListener('abort', abort)
      resolve()
    }
    if (signal?.aborted) return reject(signal.reason)
    waiters.add(proceed)
    signal?.addEventListener('abort', abort, { once: true })
  })
}
