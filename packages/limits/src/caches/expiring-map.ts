// Caches values for a limited time and forgets the least recently used first.

/**
 * Creates a cache of values for a limited time, with a clock in ms. It forgets the least recently used value first. It is a plain `Map`, because
 * lru-cache 11 allocates the memory for all keys at the start: 7.7 MB for 12 caches of 10,000.
 */
export function createExpiringMap<Value>(maxKeys: number, now: () => number = () => 0) {
  const held = new Map<string, { readonly value: Value; readonly until: number; readonly ms: number }>()
  return {
    get(key: string): Value | undefined {
      const entry = held.get(key)
      if (!entry) return undefined
      held.delete(key)
      const leftMs = entry.until - now()
      // If more time is left than the value ever had, the clock has been set back since.
      if (leftMs <= 0 || leftMs > entry.ms) return undefined
      held.set(key, entry)
      return entry.value
    },
    /** Stores `value` for `ms` from now; default: until other values displace it. */
    set(key: string, value: Value, ms = Number.POSITIVE_INFINITY): void {
      held.delete(key)
      held.set(key, { value, until: now() + ms, ms })
      if (held.size > maxKeys) held.delete(held.keys().next().value as string)
    },
    delete(key: string): void {
      held.delete(key)
    },
  }
}
