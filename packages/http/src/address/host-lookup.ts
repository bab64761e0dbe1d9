// Looks up host names for connections and refuses those with an address that is not allowed.
import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { isIP } from 'node:net'
import { createExpiringMap, createSingleFlight } from '@postern/limits'
import { Unavailable } from '@postern/message'
import { refuseFetch } from './refuse-fetch.ts'

/** Looks up all addresses of a host name. */
export type LookupHost = (host: string) => Promise<readonly string[]>

/**
 * Creates the lookup of a socket. The lookup queries once, refuses the name unless every address is allowed, and gives the socket exactly these
 * addresses, so that no second DNS response can differ (DNS rebinding).
 */
export function createPinnedLookup(lookup: LookupHost, isAllowed: (ip: string) => boolean): LookupFunction {
  return (host, options, callback) => {
    lookUpAllowed(lookup, host, isAllowed).then(
      ([firstAddress, ...otherAddresses]) => {
        if (options.all) callback(null, [firstAddress, ...otherAddresses])
        else callback(null, firstAddress.address, firstAddress.family)
      },
      error => callback(error, '', 0),
    )
  }
}

/** Allows every address, for an origin that the operator opened by name. */
export function isAnyAddress(ip: string): boolean {
  return isIP(ip) > 0
}

async function lookUpAllowed(
  lookup: LookupHost,
  host: string,
  isAllowed: (ip: string) => boolean,
): Promise<readonly [LookupAddress, ...LookupAddress[]]> {
  const addresses = await lookup(host).catch(cause => {
    throw new Unavailable('Cannot fetch: host name cannot be resolved', { cause })
  })
  if (!addresses.every(isAllowed)) throw refuseFetch('address is not public')
  const [firstAddress, ...otherAddresses] = addresses.map(address => ({ address, family: isIP(address) }))
  if (!firstAddress) throw new Unavailable('Cannot fetch: host name has no address')
  return [firstAddress, ...otherAddresses]
}

const resolverOptions = { timeout: 2_000, tries: 2 }

/**
 * Creates a lookup that queries the DNS itself, for any number of host names at once. The system's lookup runs two at a time, so a few slow
 * names would delay all others for minutes.
 */
export function createPublicLookup(servers?: readonly string[]): LookupHost {
  const resolver = new Resolver(resolverOptions)
  if (servers) resolver.setServers(servers)
  return async host => {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const addresses = answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []))
    const [failure] = answers.flatMap(answer => (answer.status === 'rejected' ? [answer.reason] : []))
    if (addresses.length === 0 && failure) throw failure
    return addresses
  }
}

const cacheMs = 5_000
const maxCachedHosts = 1_000

/** Shares one lookup among concurrent connections. With the clock `now`, connections of the next five seconds share it too. Failures are not cached. */
export function shareLookups(lookup: LookupHost, now?: () => number): LookupHost {
  const cache = createExpiringMap<readonly string[]>(maxCachedHosts, now)
  const shareFlight = createSingleFlight<readonly string[]>()
  return async host =>
    cache.get(host) ??
    shareFlight(host, async () => {
      const addresses = await lookup(host)
      if (now) cache.set(host, addresses, cacheMs)
      return addresses
    })
}
