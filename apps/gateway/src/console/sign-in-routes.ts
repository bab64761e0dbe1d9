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

/** The maximum length of a token or code, and the maximum size of a request body. */
const [maxSecretChars, maxBodyBytes] = [1_000, 65_536]

const signInSchema = z.union([
  z.strictObject({ token: z.string().max(maxSecretChars) }),
  z.strictObject({ code: z.string().max(maxSecretChars) }),
])
const invalidBodyMessage =
  'Cannot sign in: send "token", the operator token, or "code", the end of a link that "postern dev" printed'

/** The number of failed attempts that one network may make per minute. */
const attemptsPerMinute = 10

export function createSignInRoutes({ sessions, codes, token, origin, now }: SignInOptions): Hono {
  const isOperator = createTokenCheck(token)
  const failureLimit = createRateLimit(
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
      failureLimit.check(clientNetwork)
      const credentials = await readCredentials(context)
      const isValid =
        'code' in credentials ? codes.consume(credentials.code) : isOperator(`Bearer ${credentials.token}`)
      if (!isValid) {
        failureLimit.consume(clientNetwork)
        throw new Rejection('forbidden', failureMessages['code' in credentials ? 'code' : 'token'])
      }
      const { secret, seconds } = await sessions.begin()
      setCookie(context, sessionCookie, secret, { ...createCookieOptions(origin, context), maxAge: seconds })
      return context.json({ open: true, seconds })
    })
    .delete('/operator/session', async context => {
      requireOwnPage(context)
      const secret = readSession(context)
      if (secret !== undefined) await sessions.end(secret)
      deleteCookie(context, sessionCookie, createCookieOptions(origin, context))
      return context.json({ open: false })
    })
}

const failureMessages = {
  code: 'Cannot sign in: this link was used before, or the gateway has restarted. Use the operator token instead.',
  token:
    'Cannot sign in: this is not the operator token. The configuration has it as "operator_token"; "postern dev" prints it.',
} as const

/** Returns the options of the cookie. A page of `http://127.0.0.1` gets no `Secure` cookie, because not all browsers would keep it. */
function createCookieOptions(origin: string, context: Context) {
  const isHttps = context.req.header('origin')?.startsWith('https:') ?? origin.startsWith('https:')
  return { path: '/operator', httpOnly: true, sameSite: 'Strict', secure: isHttps } as const
}

/** Reads the body of a sign-in request. @throws Rejection `malformed`, `too_large` */
async function readCredentials({ req }: Context): Promise<z.output<typeof signInSchema>> {
  const bytes = await readBody(req.raw, maxBodyBytes)
  const result = signInSchema.safeParse(parseBoundedJson(bytes, { maxDepth: 4, label: 'request' }))
  if (result.success) return result.data
  throw new Rejection('malformed', invalidBodyMessage)
}
