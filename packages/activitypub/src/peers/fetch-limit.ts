// Limits the fetches that strangers can cause.
import { createRateLimit } from '@postern/limits'

type FetchLimits = Readonly<Record<'perHost' | 'inAll', number>> & { readonly atOnce?: number }

/**
 * Creates a counter of the fetches a minute that strangers cause. It throws a Rejection `rate_limited` above a limit.
 */
export function limitFetches({ perHost, inAll, atOnce = inAll }: FetchLimits, now: () => number) {
  const ofHost = createRateLimit({ perMinute: perHost }, now)
  const ofAll = createRateLimit({ perMinute: inAll, burst: atOnce }, now)
  return (host: string): void => {
    ofHost.take(host)
    ofAll.take('')
  }
}
