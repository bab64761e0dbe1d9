import { Rejection } from '@postern/core'

export interface RateLimitOptions {
  readonly perMinute: number
  /** The number of events at once after a pause; default `perMinute`. */
  readonly burst?: number | undefined
  /** The number of remembered keys; beyond it, keys not seen for long are forgotten. Default 10 000. */
  readonly maxKeys?: number | undefined
  /** The message for a peer. */
  readonly refusal?: string | undefined
}

export interface RateLimit {
  /** @throws Rejection `rate_limited` with `retryAfter` in seconds */
  take(key: string): void
  /** As `take`, without using a token. */
  check(key: string): void
}

/**
 * A token bucket per key; `now` in milliseconds. Each bucket is stored as the instant at which it will be full again,
 * so a refusal changes nothing.
 */
export function createRateLimit(options: RateLimitOptions, now: () => number): RateLimit {
  const { perMinute, burst = perMinute, maxKeys = 10_000 } = options
  const { refusal = 'Cannot take request: too many in a short time' } = options
  if (!(perMinute > 0)) throw new RangeError('perMinute must be above 0')
  const msPerToken = 60_000 / perMinute
  const msPerBucket = msPerToken * Math.max(1, burst)
  const fullAt = createRecentMap(maxKeys)
  function fullAfter(key: string): number {
    const at = now()
    const known = fullAt.get(key) ?? at
    // Further ahead than a whole bucket: the clock was set back.
    const full = known > at + msPerBucket ? at : Math.max(known, at)
    const waitMs = full + msPerToken - msPerBucket - at
    if (waitMs > 0) throw new Rejection('rate_limited', refusal, { retryAfter: Math.ceil(waitMs / 1000) })
    return full + msPerToken
  }

  return {
    take: key => fullAt.set(key, fullAfter(key)),
    check: key => void fullAfter(key),
  }
}

/** Constant time, bounded memory: two generations, and when the younger one is full the older one is forgotten. */
function createRecentMap(maxKeys: number) {
  let young = new Map<string, number>()
  let old = new Map<string, number>()

  function set(key: string, value: number): void {
    if (young.size >= maxKeys / 2 && !young.has(key)) {
      old = young
      young = new Map()
    }
    young.set(key, value)
  }

  function get(key: string): number | undefined {
    const value = young.get(key) ?? old.get(key)
    if (value !== undefined && !young.has(key)) set(key, value)
    return value
  }

  return { get, set }
}
