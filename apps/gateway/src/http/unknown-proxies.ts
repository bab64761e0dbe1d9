import type { Log } from '@postern/core'
import { isPublicAddress, peerAddress } from '@postern/http'
import type { TrustedProxies } from '../config/trusted-proxies.ts'

export interface UnknownProxies {
  /** Looks at one request. */
  notice(env: unknown, headers: Headers): void
  /** Addresses, the oldest first. */
  list(): readonly string[]
}

export const untrustedProxyFix =
  'All its clients share one rate limit. If it is your proxy, add its address to network.trusted_proxies.'

/** More are not worth a warning each. */
const mostKnown = 16

/** Private peers that pass forwarded requests on and are not trusted: most likely the operator's own proxy. */
export function createUnknownProxies({ isTrusted }: TrustedProxies, log: Log): UnknownProxies {
  const known = new Set<string>()

  function notice(env: unknown, headers: Headers): void {
    if (known.size >= mostKnown || !(headers.has('x-forwarded-for') || headers.has('forwarded'))) return
    const proxy = peerAddress(env)
    if (proxy === '' || known.has(proxy) || isTrusted(proxy) || isPublicAddress(proxy)) return
    known.add(proxy)
    log.warn({ proxy }, `a proxy that is not trusted passes requests on: ${untrustedProxyFix}`)
  }

  return { notice, list: () => [...known] }
}
