import type { Config } from './schema.ts'

/** Whether a socket that is bound to `host` can be reached from this machine only. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

export const noTrustedProxy = {
  message: 'no proxy is trusted: all clients behind one share one rate limit',
  fix: 'Add the address of the proxy that ends TLS to network.trusted_proxies.',
} as const

/** In production there is a proxy: the origin is https, and the gateway ends no TLS. */
export function trustsNoProxy({ dev, listen, network }: Pick<Config, 'dev' | 'listen' | 'network'>): boolean {
  if (dev) return false
  return network.trusted_proxies ? network.trusted_proxies.length === 0 : !isLoopbackHost(listen.host)
}
