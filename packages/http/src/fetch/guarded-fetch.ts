import type { FetchAnswer, FetchRequest, GuardedFetch, OpenStream } from '@postern/core'
import { createKeyedSemaphore } from '@postern/limits'
import type { LookupHost } from '../address/pinned-lookup.ts'
import type { Route, UrlGuardOptions } from '../address/url.ts'
import { createUrlGuard } from '../address/url.ts'
import { createConnectionPool } from './connection-pool.ts'
import { openDeadline } from './deadline.ts'
import type { ExchangeRequest } from './exchange.ts'
import { runExchange } from './exchange.ts'
import { readFetchHeaders } from './headers.ts'
import { createOpenStream } from './open-stream.ts'
import { followRedirects } from './redirects.ts'

export interface GuardedFetchOptions extends UrlGuardOptions {
  /** All addresses of a host name; asked when a connection is opened. Default: the DNS, and the system for opened origins. */
  readonly lookup?: LookupHost | undefined
  readonly userAgent: string
  /** Milliseconds; with a clock, connections opened in quick succession share one look-up. */
  readonly now?: (() => number) | undefined
}

/** Nothing is asked to change something twice. */
const changingMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'DELETE'])

const defaults = { timeoutMs: 10_000, maxBytes: 1024 * 1024, redirects: 0 }
/** Exchanges with one host at a time, and how many more may wait for their turn within their own deadline. */
const perHost = { width: 16, queue: 256 }

/**
 * The only way out over HTTP: https on port 443 to public addresses, each connection pinned to an address that was
 * checked. Redirects are followed for GET and HEAD only, every hop checked like the first.
 * No proxy, no cookies, no compression.
 * @throws ConfigError when `allowPrivate` or `loopback` cannot be read
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch & {
  readonly openStream: OpenStream
  close(): void
} {
  const guard = createUrlGuard(options)
  const connections = createConnectionPool({ lookup: options.lookup, now: options.now, maxSockets: perHost.width })
  const semaphore = createKeyedSemaphore(perHost)

  async function guardedFetch(url: string, request: FetchRequest = {}): Promise<FetchAnswer> {
    const planned = planExchange(request, options.userAgent)
    const first = guard(url)
    const { signal, clear } = openDeadline(request.timeoutMs ?? defaults.timeoutMs, request.signal)
    const run = (route: Route, hop: ExchangeRequest) =>
      semaphore.pass(route.url.host, signal, () => runExchange(route, hop, connections.choose(route), signal))
    const redirects = changingMethods.has(planned.method) ? 0 : (request.redirects ?? defaults.redirects)
    try {
      return await followRedirects(first, planned, { redirects, guard, run })
    } finally {
      clear()
    }
  }

  const streams = createOpenStream({ guard, connections, userAgent: options.userAgent })
  return Object.assign(guardedFetch, {
    openStream: streams.open,
    close() {
      streams.close()
      connections.close()
    },
  })
}

function planExchange(request: FetchRequest, userAgent: string): ExchangeRequest {
  const { method = 'GET', headers = {}, body, maxBytes = defaults.maxBytes } = request
  const length = changingMethods.has(method) || body !== undefined ? Buffer.byteLength(body ?? '') : undefined
  return { method, headers: readFetchHeaders(headers, { userAgent, length }), body, maxBytes }
}
