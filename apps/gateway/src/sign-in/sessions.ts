import { hash, randomBytes } from 'node:crypto'
import type { RecordStore } from '@postern/transcript'
import type { Context } from 'hono'
import { getCookie } from 'hono/cookie'

export interface OperatorSessions {
  /** A new session, by the text of its cookie. */
  begin(): Promise<StartedSession>
  /** Whether this is the text of a session that has not ended. */
  isOpen(secret: string): Promise<boolean>
  end(secret: string): Promise<void>
}

interface StartedSession {
  readonly secret: string
  /** Seconds until it ends by itself. */
  readonly seconds: number
}

interface SessionDeps {
  readonly records: Pick<RecordStore, 'get' | 'insert' | 'remove'>
  /** The operator token: sessions of an earlier token are over. */
  readonly token: string
  readonly now: () => number
}

/** An ordinary working day. */
const sessionSeconds = 12 * 3_600

/**
 * Sessions of the console. The store has their digests, so that all gateways of one store know them and a copy of the database opens nothing.
 */
export function createOperatorSessions({ records, token, now }: SessionDeps): OperatorSessions {
  const nameOf = (secret: string) => ({
    kind: 'operator-session',
    owner: 'operator',
    key: hash('sha256', `${token}\n${secret}`),
  })
  return {
    async begin() {
      const secret = randomBytes(32).toString('base64url')
      const until = now() + sessionSeconds * 1_000
      await records.insert(nameOf(secret), { until }, { until })
      return { secret, seconds: sessionSeconds }
    },
    async isOpen(secret) {
      const found = await records.get(nameOf(secret))
      const { until = 0 } = (found?.value ?? {}) as { readonly until?: number }
      return until > now()
    },
    end: secret => records.remove(nameOf(secret)),
  }
}

/** Codes in links to the console. Each opens one session, in the process that made it. */
export interface SignInCodes {
  make(): string
  /** False for a code that is unknown or used. */
  use(code: string): boolean
}

/** More than these were never clicked; the oldest is forgotten. */
const maxCodes = 100

export function createSignInCodes(): SignInCodes {
  const open = new Set<string>()
  return {
    make() {
      const code = randomBytes(18).toString('base64url')
      const [oldest] = open
      if (open.size >= maxCodes && oldest !== undefined) open.delete(oldest)
      open.add(hash('sha256', code))
      return code
    },
    use: code => open.delete(hash('sha256', code)),
  }
}

export const sessionCookie = 'postern_operator'

/** A header that no form and no link can send: only a script of a page, and only of another origin after a preflight that fails. */
const consoleHeader = 'x-postern-console'

/** The text of the session, if the request brings one. */
export function readSession(context: Context): string | undefined {
  return getCookie(context, sessionCookie)
}

/**
 * Whether a request that changes something was made by the console's own page: by its header, by where the browser says it comes from, and
 * by the page's origin. A cookie alone proves nothing of that.
 */
export function isFromOwnPage(context: Context, origin: string): boolean {
  if (context.req.header(consoleHeader) === undefined) return false
  const site = context.req.header('sec-fetch-site')
  if (site !== undefined && site !== 'same-origin') return false
  const from = context.req.header('origin')
  return from === origin || (from !== undefined && URL.parse(from)?.host === context.req.header('host'))
}
