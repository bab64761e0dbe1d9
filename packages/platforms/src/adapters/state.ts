// Keeps the names that an adapter looks up, as its `StateAdapter`.
import type { StateAdapter } from 'chat'

interface StateDeps {
  now(): number
  /** Returns true if the adapter's mark for this key must not be kept. */
  isForgotten(key: string): boolean
  /** Returns the value of keys that are never stored. Default: none has one. */
  readConstant?(key: string): unknown
}

interface StateEntry {
  readonly value: unknown
  readonly endsAt: number
}

/** The maximum number of entries; the oldest go first. */
const maxEntries = 10_000

/**
 * Creates the state of an adapter. It holds only what the platform can tell again, such as names, so it may end with the process. Everything that has
 * to survive is in the store: messages, duplicates, the order of turns, and the threads in which an agent has answered. Locks and queues therefore
 * stay unused.
 */
export function createPlatformState({ now, isForgotten, readConstant }: StateDeps): StateAdapter {
  const entries = new Map<string, StateEntry>()

  function read(key: string): unknown {
    const constant = readConstant?.(key)
    if (constant !== undefined) return constant
    const entry = entries.get(key)
    if (!entry || entry.endsAt > now()) return entry?.value
    entries.delete(key)
    return undefined
  }

  function write(key: string, value: unknown, ttlMs = Number.POSITIVE_INFINITY): void {
    if (isForgotten(key)) return
    entries.delete(key)
    const [oldestKey] = entries.keys()
    if (entries.size >= maxEntries && oldestKey !== undefined) entries.delete(oldestKey)
    entries.set(key, { value, endsAt: now() + ttlMs })
  }

  const refuseOrder = async (): Promise<never> => {
    throw new Error('the gateway orders the turns of a conversation itself')
  }
  const refuseSubscription = async (): Promise<never> => {
    throw new Error('the gateway itself knows in which threads it has answered')
  }

  return {
    connect: async () => undefined,
    disconnect: async () => entries.clear(),
    get: async <Value>(key: string) => (read(key) ?? null) as Value | null,
    set: async (key, value, ttlMs) => write(key, value, ttlMs),
    async setIfNotExists(key, value, ttlMs) {
      if (read(key) !== undefined) return false
      write(key, value, ttlMs)
      return true
    },
    async delete(key) {
      entries.delete(key)
    },
    async appendToList(key, value, { maxLength, ttlMs } = {}) {
      const list = [...((read(key) as readonly unknown[] | undefined) ?? []), value]
      write(key, maxLength === undefined ? list : list.slice(-maxLength), ttlMs)
    },
    getList: async <Value>(key: string) => ((read(key) ?? []) as Value[]).slice(),
    isSubscribed: refuseSubscription,
    subscribe: refuseSubscription,
    unsubscribe: refuseSubscription,
    acquireLock: refuseOrder,
    extendLock: refuseOrder,
    releaseLock: refuseOrder,
    forceReleaseLock: refuseOrder,
    enqueue: refuseOrder,
    dequeue: refuseOrder,
    queueDepth: refuseOrder,
  }
}
