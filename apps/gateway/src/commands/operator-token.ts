import { createHash, timingSafeEqual } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'

/** Whether an `Authorization` bears this token; says nothing by the time it takes. */
export function createTokenCheck(token: string): (authorization: string) => boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = digest(`Bearer ${token}`)
  return authorization => timingSafeEqual(digest(authorization.replace(/^bearer /i, 'Bearer ')), expected)
}

/** Only the bearer of the operator token gets past. */
export function requireOperator(token: string): MiddlewareHandler {
  const isOperator = createTokenCheck(token)
  return async function operatorOnly(context, next) {
    if (!isOperator(context.req.header('authorization') ?? '')) {
      context.header('www-authenticate', 'Bearer realm="postern operator"')
      return context.json(
        { title: 'Unauthorized', status: 401, detail: 'The operator token is missing or wrong.' },
        401,
      )
    }
    context.header('cache-control', 'no-store')
    await next()
    return undefined
  }
}
