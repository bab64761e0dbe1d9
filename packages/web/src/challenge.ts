import type { MiddlewareHandler } from 'hono'

/** Who is answered 401 is told what would help (RFC 9110 §15.5.2, RFC 6750 §3). */
export const challengeBearer: MiddlewareHandler = async (c, next) => {
  await next()
  if (c.res.status !== 401) return
  const isGiven = c.req.header('authorization') !== undefined
  c.header('www-authenticate', `Bearer realm="postern"${isGiven ? ', error="invalid_token"' : ''}`)
}
