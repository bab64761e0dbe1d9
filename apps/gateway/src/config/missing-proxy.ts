// Finds a gateway that trusts no proxy, although one must stand in front of it.
import { isLoopbackHost } from '@postern/http'
import type { Config } from './schema.ts'

export const noTrustedProxy = {
  message: 'no proxy is trusted: all clients behind one share one rate limit',
  fix: 'Add the address of the proxy that ends TLS to network.trusted_proxies.',
} as const

/** Returns true if a gateway in production trusts no proxy. The gateway needs a proxy, because its origin is https and it does not end TLS itself. */
export function trustsNoProxy({ dev, listen, network }: Pick<Config, 'dev' | 'listen' | 'network'>): boolean {
  if (dev) return false
  return network.trusted_proxies ? network.trusted_proxies.length === 0 : !isLoopbackHost(listen.host)
}
