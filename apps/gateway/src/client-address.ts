import { isIPv6 } from 'node:net'
import { peerAddress } from '@postern/http'

/** Who is really connected: the last hop that is not one of our own proxies. */
export function findClientAddress(
  env: unknown,
  forwardedFor: string | undefined,
  trustedProxies: ReadonlySet<string>,
): string {
  const direct = peerAddress(env)
  if (!forwardedFor || !trustedProxies.has(direct)) return direct
  const hops = forwardedFor.split(',').map(hop => hop.trim())
  return hops.findLast(hop => hop && !trustedProxies.has(hop)) ?? direct
}

/** What one subscriber has: an IPv4 address, or 64 bits of IPv6, of which the other 64 are theirs to choose (RFC 7421). */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const [left = [], right = []] = address.split('::').map(half => (half ? half.split(':') : []))
  const lost = 8 - left.length - right.length - (address.includes('.') ? 1 : 0)
  const groups = [...left, ...Array.from({ length: lost }, () => '0'), ...right].slice(0, 4)
  return `${groups.map(group => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}
