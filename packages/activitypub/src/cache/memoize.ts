import { hash } from 'node:crypto'

/** The result of `make` for this text, from memory if it was made recently. */
type RememberText<Value> = (text: string, make: () => Value) => Value

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
export function memoize<Value>(): RememberText<Value> {
  const known = new Map<string, Made<Value>>()
  let held = 0

  function forget(key: string): void {
    held -= known.get(key)?.length ?? 0
    known.delete(key)
  }

  return (text, make) => {
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
