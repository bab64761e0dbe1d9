// Caches the results of pure functions of long texts, within a limit on their size.

import { hash } from 'node:crypto'

/** The length from which results are cached. Shorter texts are processed again, which is faster than a look-up. */
const minLength = 2_048
/** The limits of one cache: the UTF-16 code units of all its results, and their number. */
const [maxChars, maxResults] = [8_000_000, 2_000] as const
/** The least size that a result counts, because even an empty one uses memory. */
const minResultSize = 200

interface MemoOptions<Value> {
  /** Returns the number of UTF-16 code units in a result. */
  sizeOf(value: Value): number
  readonly maxChars?: number
}

interface CachedResult<Value> {
  readonly value: Value
  readonly size: number
}

/**
 * Creates a cache for results of long texts, which forgets the least recently used ones first. Without the cache, strangers could have agents
 * write texts that are costly to process, and then request these texts repeatedly. The cache counts the size of each result, and stores only the
 * digest of a text. The newest result stays regardless of its size, because it is the most likely to be needed next. `compute` must be pure.
 */
export function memoize<Value>({ sizeOf, maxChars: maxCachedChars = maxChars }: MemoOptions<Value>) {
  const results = new Map<string, CachedResult<Value>>()
  let cachedChars = 0

  function forget(key: string): void {
    cachedChars -= results.get(key)?.size ?? 0
    results.delete(key)
  }

  function createResult(compute: () => Value): CachedResult<Value> {
    const value = compute()
    return { value, size: Math.max(minResultSize, sizeOf(value)) }
  }

  return (text: string, compute: () => Value): Value => {
    if (text.length < minLength) return compute()
    const key = hash('sha256', text)
    const result = results.get(key) ?? createResult(compute)
    forget(key)
    results.set(key, result)
    cachedChars += result.size
    for (const oldestKey of results.keys()) {
      if ((cachedChars <= maxCachedChars && results.size <= maxResults) || oldestKey === key) break
      forget(oldestKey)
    }
    return result.value
  }
}
