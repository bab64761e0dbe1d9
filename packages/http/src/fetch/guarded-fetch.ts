// Fetches URLs without a way into private networks (SSRF): each connection goes to a checked public address.
import { lookup as lookupSystem } from 'node:dns/promises'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { isIP } from 'node:net'
import { createKeyedSemaphore } from '@postern/limits'
import type { FetchAnswer, FetchRequest, GuardedFetch, OpenStream } from '@postern/message'
import { ConfigError, isHostLength, maxUrlLength, parseUrl } from '@postern/message'
import type { LookupHost } from '../address/lookup.ts'
import { createPinnedLookup, createPublicLookup, isAnyAddress, shareLookups } from '../address/lookup.ts'
import { isPublicAddress, refuseFetch } from '../address/public-address.ts'
import { openDeadline } from './deadline.ts'
import type { ConnectionOptions, ExchangeRequest, Route, UrlGuard } from './exchange.ts'
import { runExchange } from './exchange.ts'
import { createOpenStream } from './open-stream.ts'
import { changingMethods, pickPortableHeaders, planExchange } from './plan-exchange.ts'

export interface GuardedFetchOptions extends UrlGuardOptions {
  /** Looks up all addresses of a host name for a new connection. Default: the DNS, and the system's lookup for opened origins. */
  readonly lookup?: LookupHost | undefined
  readonly userAgent: string
  /** The clock, in ms. If it is present, connections in quick succession share one lookup. */
  readonly now?: (() => number) | undefined
}

const defaults = { timeoutMs: 10_000, maxBytes: 1024 * 1024, redirects: 0 }
/** The most concurrent exchanges with one host, and the most that may wait within their own deadlines. */
const perHost = { maxRunning: 16, maxWaiting: 256 }

/**
 * Creates the only function for HTTP requests: https on port 443 to public addresses, each connection pinned to a checked address. It follows
 * redirects for GET and HEAD only, with the same checks for each hop. It uses no proxy, no cookies and no compression. @throws ConfigError if
 * `allowPrivate` or `loopback` cannot be parsed
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch & {
  readonly openStream: OpenStream
  close(): void
} {
  const guard = createUrlGuard(options)
  const connections = createConnectionPool(options)
  const semaphore = createKeyedSemaphore(perHost)

  async function guardedFetch(url: string, request: FetchRequest = {}): Promise<FetchAnswer> {
    const exchange = planExchange(request, { userAgent: options.userAgent, maxBytes: defaults.maxBytes })
    const first = guard(url)
    const { signal, clear } = openDeadline(request.timeoutMs ?? defaults.timeoutMs, request.signal)
    const run = (route: Route, hop: ExchangeRequest) =>
      semaphore.run(route.url.host, signal, () => runExchange(route, hop, connections.choose(route), signal))
    // Methods that change something are never repeated.
    const redirects = changingMethods.has(exchange.method) ? 0 : (request.redirects ?? defaults.redirects)
    try {
      return await followRedirects(first, exchange, { redirects, guard, run })
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

/** Runs an exchange and its redirects. @throws Undeliverable when a hop leads to a forbidden address */
async function followRedirects(
  first: Route,
  request: ExchangeRequest,
  { redirects, guard, run }: RedirectOptions,
): Promise<FetchAnswer> {
  let route = first
  let headers = request.headers
  for (let hops = 0; ; hops += 1) {
    const answer = await run(route, { ...request, headers })
    const location = redirectStatuses.has(answer.status) ? answer.headers.get('location') : null
    if (redirects === 0 || location === null) return answer
    if (hops === redirects) throw refuseFetch('too many redirects')
    const next = checkRedirect(route, location, guard)
    if (next.url.origin !== route.url.origin) headers = pickPortableHeaders(headers)
    route = next
  }
}

function checkRedirect(from: Route, location: string, guard: UrlGuard): Route {
  const target = parseUrl(location, from.url.href)
  if (!target) throw refuseFetch('redirect leads to no URL')
  if (target.protocol !== from.url.protocol) throw refuseFetch('redirect changes the scheme')
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
  const pool = { keepAlive: true, maxSockets: perHost.maxRunning, maxFreeSockets: perHost.maxRunning, timeout: 15_000 }
  const agents = { http: new HttpAgent(pool), https: new HttpsAgent(pool) }
  const publicLookup = createPinnedLookup(shareLookups(lookup ?? createPublicLookup(), now), isPublicAddress)
  // An opened origin may have a name that only this machine knows.
  const openLookup = createPinnedLookup(shareLookups(lookup ?? lookupSystemNames, now), isAnyAddress)
  return {
    choose: ({ isSecure, isOpened }) => ({
      agent: isSecure ? agents.https : agents.http,
      lookup: isOpened ? openLookup : publicLookup,
    }),
    close() {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

async function lookupSystemNames(host: string): Promise<readonly string[]> {
  const addresses = await lookupSystem(host, { all: true })
  return addresses.map(({ address }) => address)
}

/** The addresses that the operator opens on purpose. */
interface UrlGuardOptions {
  /** Exact origins (scheme, host and port) whose private addresses are allowed. Only these may be `http:`. */
  readonly allowPrivate?: readonly string[] | undefined
  /** The ports of 127.0.0.1 by host: `https://host/…` is sent as plain HTTP to that port. For development only. */
  readonly loopback?: Readonly<Record<string, number>> | undefined
}

/** WHATWG parsing drops or converts these characters, so two readers could see two addresses. */
const notInUrl = /[\p{Cc}\\]/u
const absolute = /^[a-z][a-z0-9+.-]*:\/\//i
const label = /^[a-z0-9_-]{1,63}$/
/** The private zones of RFC 6761, RFC 6762 and RFC 8375, and the name that ICANN reserved for private use. */
const privateZones = /\.(localhost|local|internal|home\.arpa)$/

/**
 * Checks a URL without DNS: it must have https, port 443, no credentials, and a host that can be public in every spelling. @returns the URL in its
 * normal form: A-labels, no trailing dot, no fragment @throws Undeliverable
 */
export function checkFetchUrl(url: string, options: UrlGuardOptions = {}): URL {
  return createUrlGuard(options)(url).url
}

/** Reads the options once. The returned guard throws `Undeliverable`. @throws ConfigError */
function createUrlGuard({ allowPrivate = [], loopback = {} }: UrlGuardOptions): UrlGuard {
  const openedOrigins = new Set(allowPrivate.map(readOrigin))
  const ports = new Map(Object.entries(loopback).map(readLoopback))
  return text => {
    const url = normalizeUrl(text)
    const port = ports.get(url.origin)
    if (port !== undefined) return { url, isOpened: true, isSecure: false, host: '127.0.0.1', port }
    const isOpened = openedOrigins.has(url.origin)
    if (!isOpened) checkPublicUrl(url)
    const isSecure = url.protocol === 'https:'
    return { url, isOpened, isSecure, host: bareHost(url), port: Number(url.port) || (isSecure ? 443 : 80) }
  }
}

/** Decimal, octal, hexadecimal, short and Unicode spellings of a host have one form after this (WHATWG URL §3.5). */
function normalizeUrl(text: string): URL {
  if (text.length > maxUrlLength) throw refuseFetch('URL is too long')
  if (notInUrl.test(text)) throw refuseFetch('URL holds characters that do not belong there')
  if (!absolute.test(text) || !URL.canParse(text)) throw refuseFetch('not an absolute URL')
  const url = parseUrl(text)
  if (!url) throw refuseFetch('URL is too long')
  if (url.username || url.password) throw refuseFetch('URL holds credentials')
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1)
  url.hash = ''
  return url
}

function checkPublicUrl(url: URL): void {
  if (url.protocol !== 'https:') throw refuseFetch('scheme is not https')
  if (url.port) throw refuseFetch('port is not 443')
  const host = bareHost(url)
  if (isIP(host) ? !isPublicAddress(host) : !isPublicName(host)) throw refuseFetch('address is not public')
}

function isPublicName(host: string): boolean {
  if (!isHostLength(host)) return false
  const labels = host.split('.')
  const isName = labels.length > 1 && labels.every(part => label.test(part))
  return isName && !privateZones.test(host)
}

function bareHost({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

function readOrigin(text: string): string {
  const url = URL.parse(text)
  if (url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url.origin
  throw new ConfigError(
    'network.allow_private',
    `"${text}" is not an origin`,
    'Write scheme, host and port, like "http://127.0.0.1:8080".',
  )
}

function readLoopback([host, port]: readonly [string, number]): readonly [string, number] {
  const url = URL.parse(`https://${host}`)
  const isPort = Number.isInteger(port) && port > 0 && port < 65_536
  if (url && isPort && url.href === `${url.origin}/` && !url.port) return [url.origin, port]
  throw new ConfigError(
    'network.loopback',
    `"${host}": ${port} is not a host and a port`,
    'Write entries like "mastodon.test": 9001.',
  )
}
