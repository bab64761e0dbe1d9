import { isIP } from 'node:net'
import { peerAddress } from '@postern/http'
import type { TrustedProxies } from '../config/trusted-proxies.ts'

/** Who is really connected: the last hop of `X-Forwarded-For`, read from the right, that is not a trusted proxy. */
export function findClientAddress(
  env: unknown,
  forwardedFor: string | undefined,
  { isTrusted }: TrustedProxies,
): string {
  let address = peerAddress(env)
  const hops = forwardedFor?.split(',') ?? []
  while (isTrusted(address)) {
    const before = parseHop(hops.pop() ?? '')
    if (before === undefined) break
    address = before
  }
  return address
}

/** Some proxies add the port. Undefined for what is no address: nobody vouches for what stands further left. */
function parseHop(hop: string): string | undefined {
  const text = hop.trim()
  const bare = text.replace(/^\[([^\]]*)\](?::\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  const address = bare.replace(/^::ffff:(?=\d+\.)/i, '')
  return isIP(address) ? address : undefined
}
