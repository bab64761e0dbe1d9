import { hash } from 'node:crypto'

/**
 * Values for a limited time, with a clock in ms; the least recently used is forgotten first. A plain `Map`, because lru-cache 11 takes its memory for all
 * keys at the start: 7.7 MB for 12 caches of 10,000.
 */
export function createExpiringMap<Value>(maxKeys: number, now: () => number = () => 0) {
  const held = new Map<string, { readonly value: Value; readonly until: number }>()
  return {
    get(key: string): Value | undefined {
      const entry = held.get(key)
      if (!entry) return undefined
      held.delete(key)
      if (entry.until <= now()) return undefined
      held.set(key, entry)
      return entry.value
    },
    /** Keeps `value` for `ms` from now; default: until others take its room. */
    set(key: string, value: Value, ms = Number.POSITIVE_INFINITY): void {
      held.delete(key)
      held.set(key, { value, until: now() + ms })
      if (held.size > maxKeys) held.delete(held.keys().next().value as string)
    },
    delete(key: string): void {
      held.delete(key)
    },
  }
}

/** Those who ask for one thing at the same time share one answer: runs `work`, or joins it when it is under way for this key already. */
export function createSingleFlight<Result>() {
  const running = new Map<string, Promise<Result>>()
  return (key: string, work: () => Promise<Result>): Promise<Result> => {
    const underWay = running.get(key)
    if (underWay) return underWay
    const begun = work().finally(() => running.delete(key))
    running.set(key, begun)
    return begun
  }
}

/** Shorter texts are made anew sooner than looked up. */
const minLength = 2_048
/** UTF-16 code units of all texts whose results are held. */
const maxChars = 4_000_000

interface Made<Value> {
  readonly value: Value
  readonly length: number
}

/**
 * Remembers what was made of long texts, the least recently used forgotten first: strangers have agents say what costs the most to
 * work on, and then ask for it again and again. `make` must be pure.
 */
export function memoize<Value>() {
  const known = new Map<string, Made<Value>>()
  let held = 0

  function forget(key: string): void {
    held -= known.get(key)?.length ?? 0
    known.delete(key)
  }

  return (text: string, make: () => Value): Value => {
    if (text.length < minLength) return make()
    const key = hash('sha256', text)
    const made = known.get(key) ?? { value: make(), length: text.length }
    forget(key)
    known.set(key, made)
    held += made.length
    for (const oldest of known.keys()) {
      if (held <= maxChars) break
      forget(oldest)
    }
    return made.value
  }
}
