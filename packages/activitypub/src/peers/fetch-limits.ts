// Limits the fetches that strangers can cause.
import type { RateLimit } from '@postern/limits'
import { createRateLimit } from '@postern/limits'

type FetchLimits = Readonly<Record<'perHost' | 'total', number>> & { readonly burst?: number }

/** Creates a counter of the fetches a minute that strangers cause. Above a limit, it throws a Rejection `rate_limited`. */
export function createFetchLimit({ perHost, total, burst = total }: FetchLimits, now: () => number): RateLimit {
  const hostLimit = createRateLimit({ perMinute: perHost }, now)
  const totalLimit = createRateLimit({ perMinute: total, burst }, now)
  return {
    consume(host) {
      hostLimit.consume(host)
      totalLimit.consume('')
    },
    check(host) {
      hostLimit.check(host)
      totalLimit.check('')
    },
  }
}
