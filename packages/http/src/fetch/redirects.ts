import type { FetchAnswer } from '@postern/core'
import { parseUrl } from '@postern/core'
import type { Route, UrlGuard } from '../address/url.ts'
import { refuseFetch } from '../address/url.ts'
import type { ExchangeRequest } from './exchange.ts'
import { keepPortableHeaders } from './headers.ts'

interface RedirectOptions {
  /** Hops at most; with 0 a redirect is an ordinary answer. */
  readonly redirects: number
  readonly guard: UrlGuard
  readonly run: (route: Route, request: ExchangeRequest) => Promise<FetchAnswer>
}

const redirectStatuses = new Set([301, 302, 303, 307, 308])

/** Runs an exchange and its redirects. @throws Undeliverable when a hop leads to a forbidden address */
export async function followRedirects(
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
    if (next.url.origin !== route.url.origin) headers = keepPortableHeaders(headers)
    route = next
  }
}

function checkRedirect(from: Route, location: string, guard: UrlGuard): Route {
  const target = parseUrl(location, from.url.href)
  if (!target) throw refuseFetch('redirect leads to no URL')
  if (target.protocol !== from.url.protocol) throw refuseFetch('redirect changes the scheme')
  return guard(target.href)
}
