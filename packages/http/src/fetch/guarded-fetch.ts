// Fetches URLs without a way into private networks (SSRF): each connection goes to a checked public address.
import { lookup as lookupSystem } from 'node:dns/promises'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { createKeyedSemaphore } from '@postern/limits'
import type { FetchAnswer, FetchRequest, GuardedFetch, OpenStream } from '@postern/message'
import { lazy, parseUrl } from '@postern/message'
import type { LookupHost } from '../address/host-lookup.ts'
import { createPinnedLookup, createPublicLookup, isAnyAddress, shareLookups } from '../address/host-lookup.ts'
import { isPublicAddress } from '../address/public-address.ts'
import { refuseFetch } from '../address/refuse-fetch.ts'
import { openDeadline } from './deadline.ts'
import type { ConnectionOptions, ExchangeRequest, Route, UrlGuard } from './exchange.ts'
import { runExchange } from './exchange.ts'
import { changingMethods, createExchangeRequest, pickPortableHeaders } from './exchange-request.ts'
import { createOpenStream } from './open-stream.ts'
import type { UrlGuardOptions } from './url-guard.ts'
import { createUrlGuard } from './url-guard.ts'

export interface GuardedFetchOptions extends UrlGuardOptions {
  /** Looks up all addresses of a host name for a new connection. Default: the DNS, and the system's lookup for opened origins. */
  readonly lookup?: LookupHost | undefined
  readonly userAgent: string
  /** The clock, in ms. If it is present, connections in quick succession share one lookup. */
  readonly now?: (() => number) | undefined
}

const defaultLimits = { timeoutMs: 10_000, maxBytes: 1024 * 1024, redirects: 0 }
/** The maximum numbers of exchanges with one host that run concurrently, and that wait within their deadlines. */
const hostLimits = { maxRunning: 16, maxWaiting: 256 }

/**
 * Creates the function through which every HTTP request goes: https on port 443 to public addresses, each connection pinned to a checked address.
 * Redirects are followed for GET and HEAD only, with the same checks for each hop. Requests use no proxy, no cookies and no compression.
 * @throws ConfigError if `allowPrivate` or `loopback` cannot be parsed
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch & {
  readonly openStream: OpenStream
  close(): void
} {
  const guard = createUrlGuard(options)
  const connections = createConnectionPool(options)
  const semaphore = createKeyedSemaphore(hostLimits)

  async function guardedFetch(url: string, request: FetchRequest = {}): Promise<FetchAnswer> {
    const exchangeRequest = createExchangeRequest(request, {
      userAgent: options.userAgent,
      maxBytes: defaultLimits.maxBytes,
    })
    const firstRoute = guard(url)
    const { signal, clear } = openDeadline(request.timeoutMs ?? defaultLimits.timeoutMs, request.signal)
    const run = (route: Route, hopRequest: ExchangeRequest) =>
      semaphore.run(route.url.host, signal, () =>
        runExchange(route, hopRequest, { connection: connections.choose(route), signal }),
      )
    // Methods that change something are never repeated.
    const redirects = changingMethods.has(exchangeRequest.method) ? 0 : (request.redirects ?? defaultLimits.redirects)
    try {
      return await followRedirects(firstRoute, exchangeRequest, { redirects, guard, run })
    } finally {
      clear()
    }
  }

  const streams = createOpenStream({ guard, choose: connections.choose, userAgent: options.userAgent })
  return Object.assign(guardedFetch, {
    openStream: streams.open,
    close() {
      streams.close()
      connections.close()
    },
  })
}

interface RedirectOptions {
  /** The maximum number of hops; with 0 a redirect is an ordinary answer. */
  readonly redirects: number
  readonly guard: UrlGuard
  readonly run: (route: Route, request: ExchangeRequest) => Promise<FetchAnswer>
}

const redirectStatuses = new Set([301, 302, 303, 307, 308])

/**
 * Runs an exchange and its redirects.
 * @throws Undeliverable when a hop leads to a forbidden address
 */
async function followRedirects(
  firstRoute: Route,
  request: ExchangeRequest,
  { redirects, guard, run }: RedirectOptions,
): Promise<FetchAnswer> {
  let route = firstRoute
  let headers = request.headers
  for (let hops = 0; ; hops += 1) {
    const response = await run(route, { ...request, headers })
    const location = redirectStatuses.has(response.status) ? response.headers.get('location') : null
    if (redirects === 0 || location === null) return response
    if (hops === redirects) throw refuseFetch('too many redirects')
    const nextRoute = checkRedirect(route, location, guard)
    if (nextRoute.url.origin !== route.url.origin) headers = pickPortableHeaders(headers)
    route = nextRoute
  }
}

function checkRedirect(currentRoute: Route, location: string, guard: UrlGuard): Route {
  const target = parseUrl(location, currentRoute.url.href)
  if (!target) throw refuseFetch('redirect leads to no URL')
  if (target.protocol !== currentRoute.url.protocol) throw refuseFetch('redirect changes the scheme')
  return guard(target.href)
}

interface ConnectionPool {
  /** Chooses the sockets that a route may use. */
  choose(route: Route): ConnectionOptions
  /** Ends every connection, even those in use. */
  close(): void
}

/**
 * Creates the pool of reused connections with their lookups. One origin always has the same lookup, so no pooled connection has passed weaker checks
 * than its next user needs. Idle sockets do not keep the process alive.
 */
function createConnectionPool({ lookup, now }: Pick<GuardedFetchOptions, 'lookup' | 'now'>): ConnectionPool {
  const poolOptions = {
    keepAlive: true,
    maxSockets: hostLimits.maxRunning,
    maxFreeSockets: hostLimits.maxRunning,
    timeout: 15_000,
  }
  const agents: (HttpAgent | HttpsAgent)[] = []
  const addAgent = <Added extends HttpAgent | HttpsAgent>(agent: Added) => {
    agents.push(agent)
    return agent
  }
  // Thousands of agents elsewhere have a pool each, and most of them are idle.
  const httpAgent = lazy(() => addAgent(new HttpAgent(poolOptions)))
  const httpsAgent = lazy(() => addAgent(new HttpsAgent(poolOptions)))
  const publicLookup = lazy(() =>
    createPinnedLookup(shareLookups(lookup ?? createPublicLookup(), now), isPublicAddress),
  )
  // An opened origin may have a name that only this machine knows.
  const openLookup = lazy(() => createPinnedLookup(shareLookups(lookup ?? lookupSystemNames, now), isAnyAddress))
  return {
    choose: ({ isSecure, isPrivateAllowed }) => ({
      agent: isSecure ? httpsAgent() : httpAgent(),
      lookup: isPrivateAllowed ? openLookup() : publicLookup(),
    }),
    close() {
      for (const agent of agents) agent.destroy()
    },
  }
}

async function lookupSystemNames(host: string): Promise<readonly string[]> {
  const addresses = await lookupSystem(host, { all: true })
  return addresses.map(({ address }) => address)
}
