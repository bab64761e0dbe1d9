// Warns of proxies that pass requests on and that the configuration does not trust.

import type { HeaderFields } from '@postern/http'
import { isPublicAddress, peerAddress } from '@postern/http'
import type { Log } from '@postern/message'
import type { TrustedProxies } from './trusted-proxies.ts'

export interface UnknownProxies {
  /** Checks one request, and records its peer if the peer is an untrusted proxy. */
  checkRequest(env: unknown, headers: HeaderFields): void
  /** Returns the addresses of the untrusted proxies, the oldest first. */
  list(): readonly string[]
}

export const untrustedProxyFix =
  'All its clients share one rate limit. If it is your proxy, add its address to network.trusted_proxies.'

/** The largest number of proxies that the gateway warns of. */
const maxProxies = 16

/** Collects private peers that forward requests and are not trusted. They are most likely the operator’s own proxies. */
export function createUnknownProxies({ isTrusted }: TrustedProxies, log: Log): UnknownProxies {
  const warnedProxies = new Set<string>()

  function checkRequest(env: unknown, headers: HeaderFields): void {
    if (warnedProxies.size >= maxProxies || !(headers.has('x-forwarded-for') || headers.has('forwarded'))) return
    const proxy = peerAddress(env)
    if (proxy === '' || warnedProxies.has(proxy) || isTrusted(proxy) || isPublicAddress(proxy)) return
    warnedProxies.add(proxy)
    log.warn({ proxy }, `a proxy that is not trusted forwards requests: ${untrustedProxyFix}`)
  }

  return { checkRequest, list: () => [...warnedProxies] }
}
