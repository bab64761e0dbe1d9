// Starts and ends sessions of the console, by the operator token or by a code in a link.
import { networkOf, parseBoundedJson, readBody } from '@postern/http'
import { createRateLimit } from '@postern/limits'
import { Rejection } from '@postern/message'
import type { OperatorSessions, SignInCodes } from '@postern/operator'
import { createTokenCheck, isFromOwnPage, readSession, sessionCookie } from '@postern/operator'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { deleteCookie, setCookie } from 'hono/cookie'
import { z } from 'zod'

interface SignInOptions {
  readonly sessions: OperatorSessions
  readonly codes: Pick<SignInCodes, 'consume'>
  readonly token: string
  /** The public origin of the gateway. */
  readonly origin: string
  readonly now: () => number
}

const signInSchema = z.union([
  z.strictObject({ token: z.string().max(1_000) }),
  z.strictObject({ code: z.string().max(1_000) }),
])
const problem =
  'Cannot sign in: send "token", the operator token, or "code", the end of a link that "postern dev" printed'

/** The number of failed attempts that one network may make per minute. */
const attemptsPerMinute = 10

export function createSignInRoutes({ sessions, codes, token, origin, now }: SignInOptions): Hono {
  const isOperator = createTokenCheck(token)
  const failures = createRateLimit(
    { perMinute: attemptsPerMinute, refusal: 'Cannot sign in: too many attempts failed. Wait a minute and try again.' },
    now,
  )
  const requireOwnPage = (context: Context) => {
    if (isFromOwnPage(context, origin)) return
    throw new Rejection(
      'forbidden',
      'Cannot sign in: only the console\u2019s own page may start a session. Open /operator/ and sign in there.',
    )
  }
  return new Hono()
    .get('/operator/session', async context => {
      const secret = readSession(context)
      context.header('cache-control', 'no-store')
      return context.json({ open: secret !== undefined && (await sessions.isOpen(secret)) })
    })
    .post('/operator/session', async context => {
      requireOwnPage(context)
      const clientNetwork = networkOf((context.env as { clientAddress?: string }).clientAddress ?? '')
      failures.check(clientNetwork)
      const credentials = await readSignIn(context)
      const isValid =
        'code' in credentials ? codes.consume(credentials.code) : isOperator(`Bearer ${credentials.token}`)
      if (!isValid) {
        failures.consume(clientNetwork)
        throw new Rejection('forbidden', describeFailure('code' in credentials))
      }
      const { secret, seconds } = await sessions.begin()
      setCookie(context, sessionCookie, secret, { ...cookieOf(origin, context), maxAge: seconds })
      return context.json({ open: true, seconds })
    })
    .delete('/operator/session', async context => {
      requireOwnPage(context)
      const secret = readSession(context)
      if (secret !== undefined) await sessions.end(secret)
      deleteCookie(context, sessionCookie, cookieOf(origin, context))
      return context.json({ open: false })
    })
}

function describeFailure(isCode: boolean): string {
  return isCode
    ? 'Cannot sign in: this link was used before, or the gateway has restarted. Use the operator token instead.'
    : 'Cannot sign in: this is not the operator token. The configuration has it as "operator_token"; "postern dev" prints it.'
}

/** Returns the options of the cookie. A page of `http://127.0.0.1` gets no `Secure` cookie, because not all browsers would keep it. */
function cookieOf(origin: string, context: Context) {
  const isHttps = context.req.header('origin')?.startsWith('https:') ?? origin.startsWith('https:')
  return { path: '/operator', httpOnly: true, sameSite: 'Strict', secure: isHttps } as const
}

/** Reads the body of a sign-in request. @throws Rejection `malformed`, `too_large` */
async function readSignIn({ req }: Context): Promise<z.output<typeof signInSchema>> {
  const bytes = await readBody(req.raw, 65_536)
  const result = signInSchema.safeParse(parseBoundedJson(bytes, { maxDepth: 4, label: 'request' }))
  if (result.success) return result.data
  throw new Rejection('malformed', problem)
}
