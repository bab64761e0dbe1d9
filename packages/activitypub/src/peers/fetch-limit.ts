// Limits the fetches that strangers can cause.
import type { RateLimit } from '@postern/limits'
import { createRateLimit } from '@postern/limits'

type FetchLimits = Readonly<Record<'perHost' | 'inAll', number>> & { readonly atOnce?: number }

/** Creates a counter of the fetches a minute that strangers cause. Above a limit, it throws a Rejection `rate_limited`. */
export function limitFetches({ perHost, inAll, atOnce = inAll }: FetchLimits, now: () => number): RateLimit {
  const ofHost = createRateLimit({ perMinute: perHost }, now)
  const ofAll = createRateLimit({ perMinute: inAll, burst: atOnce }, now)
  return {
    take(host) {
      ofHost.take(host)
      ofAll.take('')
    },
    check(host) {
      ofHost.check(host)
      ofAll.check('')
    },
  }
}
