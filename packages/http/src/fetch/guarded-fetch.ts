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
  /** All addresses of a host name, for a new connection. Default: the DNS, and the system for opened origins. */
  readonly lookup?: LookupHost | undefined
  readonly userAgent: string
  /** Milliseconds. With a clock, connections in quick succession share one lookup. */
  readonly now?: (() => number) | undefined
}

/** Other methods are never repeated. */
const changingMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'DELETE'])

const defaults = { timeoutMs: 10_000, maxBytes: 1024 * 1024, redirects: 0 }
/** Exchanges with one host at a time, and how many more may wait within their own deadlines. */
const perHost = { width: 16, queue: 256 }

/**
 * The only way to make HTTP requests: https on port 443 to public addresses, each connection pinned to a checked address. It follows
 * redirects for GET and HEAD only, with the same checks for each hop. No proxy, no cookies, no compression. @throws ConfigError when
 * `allowPrivate` or `loopback` cannot be parsed
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
