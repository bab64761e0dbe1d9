// Manages sessions of the console, and the codes with which a link starts a session.
import { hash, randomBytes } from 'node:crypto'
import type { RecordStore } from '@postern/transcript'
import type { Context } from 'hono'
import { getCookie } from 'hono/cookie'

export interface OperatorSessions {
  /** Starts a session. Returns the secret for its cookie. */
  begin(): Promise<StartedSession>
  /** Returns true if the text belongs to a session that has not ended. */
  isOpen(secret: string): Promise<boolean>
  end(secret: string): Promise<void>
}

interface StartedSession {
  readonly secret: string
  /** The number of seconds until the session expires. */
  readonly seconds: number
}

interface SessionDeps {
  readonly records: Pick<RecordStore, 'get' | 'insert' | 'remove'>
  /** The operator token. Sessions that began under a former token have ended. */
  readonly token: string
  readonly now: () => number
}

/** The length of a session, which is a working day, in seconds. */
const sessionSeconds = 12 * 3_600

/**
 * Opens the sessions of the console. The store has only their digests, so that all gateways of a store recognize them, but a copy of the database
 * opens no session.
 */
export function createOperatorSessions({ records, token, now }: SessionDeps): OperatorSessions {
  const recordKeyOf = (secret: string) => ({
    kind: 'operator-session',
    owner: 'operator',
    key: hash('sha256', `${token}\n${secret}`),
  })
  return {
    async begin() {
      const secret = randomBytes(32).toString('base64url')
      const until = now() + sessionSeconds * 1_000
      await records.insert(recordKeyOf(secret), { until }, { expiresAt: until })
      return { secret, seconds: sessionSeconds }
    },
    async isOpen(secret) {
      const record = await records.get(recordKeyOf(secret))
      const { until = 0 } = (record?.value ?? {}) as { readonly until?: number }
      return until > now()
    },
    end: secret => records.remove(recordKeyOf(secret)),
  }
}

/** Codes in links to the console. Each code opens one session, in the process that created it. */
export interface SignInCodes {
  create(): string
  /** Consumes a code. Returns false if the code is unknown or already consumed. */
  consume(code: string): boolean
}

/** The maximum number of unused codes. Beyond it, the oldest one is dropped. */
const maxCodes = 100

export function createSignInCodes(): SignInCodes {
  const codeDigests = new Set<string>()
  return {
    create() {
      const code = randomBytes(18).toString('base64url')
      const [oldest] = codeDigests
      if (codeDigests.size >= maxCodes && oldest !== undefined) codeDigests.delete(oldest)
      codeDigests.add(hash('sha256', code))
      return code
    },
    consume: code => codeDigests.delete(hash('sha256', code)),
  }
}

export const sessionCookie = 'postern_operator'

/** A header that no form or link can send. A script of another origin would need a preflight, which fails. */
const consoleHeader = 'x-postern-console'

/** Returns the session’s text from the cookie. */
export function readSession(context: Context): string | undefined {
  return getCookie(context, sessionCookie)
}

/**
 * Returns true if the console's own page sent a request, judged by its header, the browser's `Sec-Fetch-Site` and the page's origin. A cookie
 * alone does not prove that.
 */
export function isFromOwnPage(context: Context, origin: string): boolean {
  if (context.req.header(consoleHeader) === undefined) return false
  const site = context.req.header('sec-fetch-site')
  if (site !== undefined && site !== 'same-origin') return false
  const from = context.req.header('origin')
  return from === origin || (from !== undefined && URL.parse(from)?.host === context.req.header('host'))
}
