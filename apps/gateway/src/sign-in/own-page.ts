import type { Context } from 'hono'
import { getCookie } from 'hono/cookie'

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
  return from === origin || (from !== undefined && hostOf(from) === context.req.header('host'))
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}
