import { createHash, timingSafeEqual } from 'node:crypto'
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
        return refuse(context, foreignPage)
    } else if (!isOperator(authorization ?? '')) {
      context.header('www-authenticate', 'Bearer realm="postern operator"')
      return refuse(context, unknownOperator)
    }
    context.header('cache-control', 'no-store')
    await next()
    return undefined
  }
}

const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD'])

const unknownOperator = {
  title: 'Unauthorized',
  status: 401,
  detail: 'The operator token is missing or wrong.',
  code: 'unsigned',
} as const
const foreignPage = {
  title: 'Forbidden',
  status: 403,
  detail: 'A session of the console changes something only from the console itself. Programs send the operator token.',
  code: 'forbidden',
} as const

function refuse(context: Context, problem: typeof unknownOperator | typeof foreignPage): Response {
  return context.json(problem, problem.status, { 'content-type': 'application/problem+json' })
}
