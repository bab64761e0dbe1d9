interface Held<Value> {
  readonly value: Value
  readonly until: number
}

/** Values for a limited time; the least recently used is forgotten first. It is a hint that may be lost. */
interface ExpiringMap<Value> {
  get(key: string): Value | undefined
  /** Keeps `value` for `ms` from now. */
  set(key: string, value: Value, ms: number): void
  delete(key: string): void
}

export function createExpiringMap<Value>(maxKeys: number, now: () => number): ExpiringMap<Value> {
  const held = new Map<string, Held<Value>>()
  return {
    get(key) {
      const entry = held.get(key)
      if (!entry) return undefined
      held.delete(key)
      if (entry.until <= now()) return undefined
      held.set(key, entry)
      return entry.value
    },
    set(key, value, ms) {
      held.delete(key)
      held.set(key, { value, until: now() + ms })
      if (held.size > maxKeys) held.delete(held.keys().next().value as string)
    },
    delete(key) {
      held.delete(key)
    },
  }
}
