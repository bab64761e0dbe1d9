import { Rejection } from '@postern/core'

export interface RateLimitOptions {
  readonly perMinute: number
  /** How many may come at once after a pause; default `perMinute`. */
  readonly burst?: number | undefined
  /** How many keys are remembered; of more, the longest unseen is forgotten. Default 10 000. */
  readonly maxKeys?: number | undefined
}

export interface RateLimit {
  /** @throws Rejection `rate_limited` with `retryAfter` in seconds */
  take(key: string): void
}

interface Bucket {
  tokens: number
  filledAt: number
}

/** One token bucket per key; constant time and bounded memory. `now` in milliseconds. */
export function createRateLimit(options: RateLimitOptions, now: () => number): RateLimit {
  const { perMinute, burst = perMinute, maxKeys = 10_000 } = options
  if (!(perMinute > 0)) throw new RangeError('perMinute must be above 0')
  const perMs = perMinute / 60_000
  const size = Math.max(1, burst)
  const buckets = new Map<string, Bucket>()

  /** A map keeps the order of insertion: taken out and put back, a key is the youngest. */
  function touchBucket(key: string, at: number): Bucket {
    const bucket = buckets.get(key) ?? { tokens: size, filledAt: at }
    buckets.delete(key)
    buckets.set(key, bucket)
    const [oldest] = buckets.size > maxKeys ? buckets.keys() : []
    if (oldest !== undefined) buckets.delete(oldest)
    return bucket
  }

  return {
    take(key) {
      const at = now()
      const bucket = touchBucket(key, at)
      bucket.tokens = Math.min(size, bucket.tokens + Math.max(0, at - bucket.filledAt) * perMs)
      bucket.filledAt = at
      if (bucket.tokens < 1) {
        const retryAfter = Math.ceil((1 - bucket.tokens) / perMs / 1000)
        throw new Rejection('rate_limited', 'Cannot take request: too many in a short time', { retryAfter })
      }
      bucket.tokens -= 1
    },
  }
}
