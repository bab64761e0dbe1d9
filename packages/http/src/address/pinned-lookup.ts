import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { isIP } from 'node:net'
import { Unavailable } from '@postern/core'
import { refuseFetch } from './url.ts'

/** All addresses of a host name. */
export type LookupHost = (host: string) => Promise<readonly string[]>

/**
 * The socket's own lookup. It asks once, refuses the name unless every address is allowed, and connects to one of exactly these addresses.
 * No second answer can differ (DNS rebinding).
 */
export function createPinnedLookup(lookup: LookupHost, isAllowed: (ip: string) => boolean): LookupFunction {
  return (host, options, callback) => {
    lookUpChecked(lookup, host, isAllowed).then(
      ([first, ...rest]) => {
        if (options.all) callback(null, [first, ...rest])
        else callback(null, first.address, first.family)
      },
      error => callback(error, '', 0),
    )
  }
}

/** For an origin that the operator opened by name. */
export function isAnyAddress(ip: string): boolean {
  return isIP(ip) > 0
}

async function lookUpChecked(
  lookup: LookupHost,
  host: string,
  isAllowed: (ip: string) => boolean,
): Promise<readonly [LookupAddress, ...LookupAddress[]]> {
  const found = await lookup(host).catch(cause => {
    throw new Unavailable('Cannot fetch: host name cannot be resolved', { cause })
  })
  if (!found.every(isAllowed)) throw refuseFetch('address is not public')
  const [first, ...rest] = found.map(address => ({ address, family: isIP(address) }))
  if (!first) throw new Unavailable('Cannot fetch: host name has no address')
  return [first, ...rest]
}
