import { Hono } from 'hono'
import type { UnknownProxies } from '../../http/unknown-proxies.ts'

/** Which private peers pass forwarded requests on without being trusted. */
export function createProxyRoutes(proxies: Pick<UnknownProxies, 'list'>): Hono {
  return new Hono().get('/proxies', context => context.json({ unknown: proxies.list() }))
}
