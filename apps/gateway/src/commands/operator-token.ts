import { createHash, timingSafeEqual } from 'node:crypto'
import { writeProblem } from '@postern/http'
import type { Context, MiddlewareHandler } from 'hono'
import type { OperatorSessions } from '../sign-in/sessions.ts'
import { isFromOwnPage, readSession } from '../sign-in/sessions.ts'

/** Whether an `Authorization` bears this token; says nothing by the time it takes. */
export function createTokenCheck(token: string): (authorization: string) => boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = digest(`Bearer ${token}`)
  return authorization => timingSafeEqual(digest(authorization.replace(/^bearer /i, 'Bearer ')), expected)
}

/** What opens the operator's routes: the token, and sessions of the console. */
interface OperatorAccess {
  readonly token: string
  readonly sessions: Pick<OperatorSessions, 'isOpen'>
  /** Where the gateway is reached. */
  readonly origin: string
}

/** Only the bearer of the operator token gets past, or the console with an open session; the latter changes something from its own page only. */
export function requireOperator({ token, sessions, origin }: OperatorAccess): MiddlewareHandler {
  const isOperator = createTokenCheck(token)
  const hasSession = async (context: Context) => {
    const secret = readSession(context)
    return secret !== undefined && (await sessions.isOpen(secret))
  }
  return async function operatorOnly(context, next) {
    const authorization = context.req.header('authorization')
    if (authorization === undefined && (await hasSession(context))) {
      if (!readingMethods.has(context.req.method) && !isFromOwnPage(context, origin))
        return writeProblem(403, foreignPage)
    } else if (!isOperator(authorization ?? '')) {
      return writeProblem(401, unknownOperator, { 'www-authenticate': 'Bearer realm="postern operator"' })
    }
    context.header('cache-control', 'no-store')
    await next()
    return undefined
  }
}

const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD'])

const unknownOperator = { detail: 'The operator token is missing or wrong.', code: 'unsigned' }
const foreignPage = {
  detail: 'A session of the console changes something only from the console itself. Programs send the operator token.',
  code: 'forbidden',
}
