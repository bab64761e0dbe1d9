// Admits only the operator to the operator's API: by the operator token, or by a session of the console.
import { createHash, timingSafeEqual } from 'node:crypto'
import { writeProblem } from '@postern/http'
import type { Context, MiddlewareHandler } from 'hono'
import { endWithSession } from './session-stream.ts'
import type { OperatorSessions } from './sessions.ts'
import { isFromOwnPage, readSession } from './sessions.ts'

/** Creates a check that an `Authorization` header has this token. It takes the same time for every wrong token. */
export function createTokenCheck(token: string): (authorization: string) => boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = digest(`Bearer ${token}`)
  return authorization => timingSafeEqual(digest(authorization.replace(/^bearer /i, 'Bearer ')), expected)
}

/** The credentials that open the operator’s routes: the token, and sessions of the console. */
interface OperatorAccess {
  readonly token: string
  readonly sessions: Pick<OperatorSessions, 'isOpen'>
  /** The public origin of the gateway. */
  readonly origin: string
}

/** Admits the operator token and open sessions of the console. A session may change something only from the console’s own pages. */
export function requireOperator({ token, sessions, origin }: OperatorAccess): MiddlewareHandler {
  const isOperator = createTokenCheck(token)
  const hasSession = async (context: Context) => {
    const secret = readSession(context)
    return secret !== undefined && (await sessions.isOpen(secret))
  }
  return async function operatorOnly(context, next) {
    const authorization = context.req.header('authorization')
    const usesSession = authorization === undefined && (await hasSession(context))
    if (usesSession) {
      if (!readingMethods.has(context.req.method) && !isFromOwnPage(context, origin))
        return writeProblem(403, foreignPage)
    } else if (!isOperator(authorization ?? '')) {
      return writeProblem(401, unknownOperator, { 'www-authenticate': 'Bearer realm="postern operator"' })
    }
    context.header('cache-control', 'no-store')
    await next()
    if (usesSession) context.res = endWithSession(context.res, () => hasSession(context))
    return undefined
  }
}

const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD'])

const unknownOperator = { detail: 'The operator token is missing or wrong.', code: 'unsigned' }
const foreignPage = {
  detail:
    'A session of the console may change something only from the console itself. Programs must send the operator token.',
  code: 'forbidden',
}
