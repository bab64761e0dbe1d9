/** A request as we saw it or, for its origin, as it has to be. */
export interface SignedRequest {
  readonly method: string
  /** Path and query as on the request line. */
  readonly target: string
  /** The configured public origin: neither `Host` nor a proxy's header is believed. */
  readonly origin: string
  readonly headers: Headers
}

/** Host, with port if any. */
export function hostOf({ origin }: Pick<SignedRequest, 'origin'>): string {
  return origin.slice(origin.indexOf('//') + 2)
}

/** Reads a request. The target is the text of the request line, as far as the server has kept it. */
export function toSignedRequest({ method, url, headers }: Request, origin: string): SignedRequest {
  const path = url.indexOf('/', url.indexOf('//') + 2)
  const hash = url.indexOf('#')
  const target = url.slice(path < 0 ? url.length : path, hash < 0 ? url.length : hash) || '/'
  return { method, target, origin, headers }
}

/** Only a request with content can lose it; a GET has none to cover. */
export function hasContent({ method }: Pick<SignedRequest, 'method'>): boolean {
  return method !== 'GET' && method !== 'HEAD'
}
