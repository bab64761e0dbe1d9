// Limits the events per minute of each key with a token bucket.

import { Rejection } from '@postern/message/errors'

interface RateLimitOptions {
  readonly perMinute: number
  /** The number of events that may arrive at once after a pause. The default is `perMinute`. */
  readonly burst?: number | undefined
  /** The number of remembered keys. Beyond it, the least recently used keys are forgotten. The default is 10,000. */
  readonly maxKeys?: number | undefined
  /** The message for a peer. */
  readonly refusal?: string | undefined
}

/** A limit on the events per minute of each key. */
export interface RateLimit {
  /**
   * Uses one token of the key.
   * @throws Rejection `rate_limited` with `retryAfter` in seconds
   */
  consume(key: string): void
  /** Does the same check as `consume`, but uses no token. */
  check(key: string): void
}

/**
 * Creates a token bucket for each key. `now` is in milliseconds. Each bucket is stored as the time at which it will be full again, so a refusal
 * changes nothing.
 */
export function createRateLimit(options: RateLimitOptions, now: () => number): RateLimit {
  const { perMinute, burst = perMinute, maxKeys = 10_000 } = options
  const { refusal = 'Cannot take request: too many in a short time' } = options
  if (!(perMinute > 0)) throw new RangeError('perMinute must be above 0')
  const msPerToken = 60_000 / perMinute
  const msPerBucket = msPerToken * Math.max(1, burst)
  const fullTimes = createRecencyMap(maxKeys)
  function computeFullTime(key: string): number {
    const currentTime = now()
    const storedFullAt = fullTimes.get(key) ?? currentTime
    // If the time is further ahead than a whole bucket, the clock has been set back.
    const refilledAt = storedFullAt > currentTime + msPerBucket ? currentTime : Math.max(storedFullAt, currentTime)
    const waitMs = refilledAt + msPerToken - msPerBucket - currentTime
    if (waitMs > 0) throw new Rejection('rate_limited', refusal, { retryAfter: Math.ceil(waitMs / 1000) })
    return refilledAt + msPerToken
  }

  return {
    consume: key => fullTimes.set(key, computeFullTime(key)),
    check: key => void computeFullTime(key),
  }
}

/** Creates a map with constant time and bounded memory. The map has two generations, and drops the older generation when the younger one is full. */
function createRecencyMap(maxKeys: number) {
  let youngGeneration = new Map<string, number>()
  let oldGeneration = new Map<string, number>()

  function set(key: string, value: number): void {
    if (youngGeneration.size >= maxKeys / 2 && !youngGeneration.has(key)) {
      oldGeneration = youngGeneration
      youngGeneration = new Map()
    }
    youngGeneration.set(key, value)
  }

  function get(key: string): number | undefined {
    const value = youngGeneration.get(key) ?? oldGeneration.get(key)
    if (value !== undefined && !youngGeneration.has(key)) set(key, value)
    return value
  }

  return { get, set }
}
