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
