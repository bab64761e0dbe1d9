import { lookup as lookupSystem } from 'node:dns/promises'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { FetchAnswer, FetchRequest, GuardedFetch } from '@postern/core'
import { openDeadline } from './deadline.ts'
import type { ExchangeRequest, Wiring } from './exchange.ts'
import { exchange } from './exchange.ts'
import { keepPortableHeaders, readFetchHeaders } from './fetch-headers.ts'
import type { Route, UrlGuard, UrlGuardOptions } from './fetch-url.ts'
import { createUrlGuard, refuseFetch } from './fetch-url.ts'
import { createGate } from './gate.ts'
import type { LookupHost } from './pinned-lookup.ts'
import { anyAddress, createPinnedLookup, publicOnly } from './pinned-lookup.ts'

export interface GuardedFetchOptions extends UrlGuardOptions {
  /** Asked once per connection; default: the system's resolver. */
  readonly lookup?: LookupHost | undefined
  readonly userAgent: string
  readonly now?: (() => number) | undefined
}

const defaults = { timeoutMs: 10_000, maxBytes: 1024 * 1024, redirects: 0 }
const perHost = { width: 16, queue: 256 }
const agentOptions = { keepAlive: true, maxSockets: perHost.width, maxFreeSockets: 8, timeout: 15_000 }
const redirectStatuses = new Set([301, 302, 303, 307, 308])

/**
 * The only way out over HTTP: https on port 443 to public addresses, each connection pinned to an address that was
 * checked. Redirects are followed for GET and HEAD only, every hop checked like the first.
 * No proxy, no cookies, no compression.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch & { close(): void } {
  const guard = createUrlGuard(options)
  const wire = createWiring(options.lookup ?? lookupAll)
  const gate = createGate(perHost)

  async function guardedFetch(url: string, request: FetchRequest = {}): Promise<FetchAnswer> {
    const plan = readRequest(request, options.userAgent)
    const route = guard(url)
    const deadline = openDeadline(request.timeoutMs ?? defaults.timeoutMs, request.signal)
    const run = (hop: Route, sent: ExchangeRequest) =>
      gate.pass(hop.url.host, deadline.signal, () => exchange(hop, sent, wire.to(hop), deadline.signal))
    try {
      return await followRedirects(route, plan, guard, run)
    } finally {
      deadline.clear()
    }
  }

  return Object.assign(guardedFetch, { close: () => wire.close() })
}

interface Plan extends ExchangeRequest {
  readonly redirects: number
}

function readRequest(request: FetchRequest, userAgent: string): Plan {
  const { method = 'GET', headers = {}, body, maxBytes = defaults.maxBytes, redirects = defaults.redirects } = request
  const length = method === 'POST' || body !== undefined ? Buffer.byteLength(body ?? '') : undefined
  return {
    method,
    headers: readFetchHeaders(headers, { userAgent, length }),
    body,
    maxBytes,
    redirects: method === 'POST' ? 0 : redirects,
  }
}

async function followRedirects(
  first: Route,
  { redirects, ...request }: Plan,
  guard: UrlGuard,
  run: (route: Route, request: ExchangeRequest) => Promise<FetchAnswer>,
): Promise<FetchAnswer> {
  let route = first
  let sent: ExchangeRequest = request
  for (let hop = 0; ; hop += 1) {
    const answer = await run(route, sent)
    const location = redirectStatuses.has(answer.status) ? answer.headers.get('location') : null
    if (redirects === 0 || location === null) return answer
    if (hop === redirects) throw refuseFetch('too many redirects')
    const next = checkRedirect(route, location, guard)
    if (next.url.origin !== route.url.origin) sent = { ...sent, headers: keepPortableHeaders(sent.headers) }
    route = next
  }
}

function checkRedirect(from: Route, location: string, guard: UrlGuard): Route {
  const target = URL.parse(location, from.url)
  if (!target) throw refuseFetch('redirect leads to no URL')
  if (target.protocol !== from.url.protocol) throw refuseFetch('redirect changes the scheme')
  return guard(target.href)
}

function createWiring(lookup: LookupHost): { to(route: Route): Wiring; close(): void } {
  const agents = { http: new HttpAgent(agentOptions), https: new HttpsAgent(agentOptions) }
  const checked = createPinnedLookup(lookup, publicOnly)
  const opened = createPinnedLookup(lookup, anyAddress)
  return {
    to: ({ secure, isOpened }) => ({ agent: secure ? agents.https : agents.http, lookup: isOpened ? opened : checked }),
    close() {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

async function lookupAll(host: string): Promise<readonly string[]> {
  const found = await lookupSystem(host, { all: true })
  return found.map(({ address }) => address)
}
