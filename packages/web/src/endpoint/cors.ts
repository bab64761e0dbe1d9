import type { MiddlewareHandler } from 'hono'

/** Pages of these origins may call, and no others (Fetch standard, CORS protocol). Credentials are bearer tokens, never cookies. */
export function answerCors(origins: readonly string[]): MiddlewareHandler {
  const allowed = new Set(origins)
  return async (c, next) => {
    const origin = c.req.header('origin')
    const isAllowed = origin !== undefined && allowed.has(origin)
    if (c.req.method === 'OPTIONS' && isAllowed) {
      return c.body(null, 204, {
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'GET, POST, PUT, DELETE',
        // `*` means every header but Authorization (Fetch standard), and nothing to older browsers.
        'access-control-allow-headers': 'authorization, dpop, content-type, accept, *',
        'access-control-max-age': '600',
        vary: 'Origin',
      })
    }
    await next()
    c.header('vary', 'Origin', { append: true })
    if (isAllowed) {
      c.header('access-control-allow-origin', origin)
      c.header('access-control-expose-headers', 'retry-after, www-authenticate, dpop-nonce')
    }
    return undefined
  }
}
