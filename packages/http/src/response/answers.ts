// Writes errors as problem details (RFC 9457), and values as server-sent events.
import { STATUS_CODES } from 'node:http'
import type { Log, RejectionCode } from '@postern/message'
import { Rejection, Unavailable } from '@postern/message'
import { CredentialRejection } from '../tokens/challenges.ts'

const statuses: Readonly<Record<RejectionCode, number>> = {
  malformed: 400,
  unsigned: 401,
  signature_invalid: 401,
  signer_mismatch: 401,
  expired: 401,
  replayed: 401,
  forbidden: 403,
  no_recipient: 404,
  too_large: 413,
  unsupported: 415,
  rate_limited: 429,
}

/** The seconds of `Retry-After` if the other server named none. */
const defaultRetryAfter = 60

/**
 * Returns the answer to a peer as problem details (RFC 9457). Errors other than `Rejection` and `Unavailable` are our bugs: they become a 500 without
 * detail, and the log gets everything.
 */
export function toProblem(error: unknown, log?: Log): Response {
  if (error instanceof Rejection) return problemOf(error)
  if (error instanceof Unavailable) {
    log?.warn({ err: error }, 'request answered as unavailable')
    return writeProblem(
      503,
      { detail: error.message, code: 'unavailable' },
      { ...noStore, ...retryHeader(error.retryAfter) },
    )
  }
  log?.error({ err: error }, 'request failed')
  return writeProblem(500, {}, noStore)
}

/** Returns the status of the answer to this error (`toProblem`). */
export function problemStatusOf(error: unknown): number {
  if (error instanceof Rejection) return statuses[error.code]
  return error instanceof Unavailable ? 503 : 500
}

function problemOf(rejection: Rejection): Response {
  const { code, message, violations, retryAfter } = rejection
  const members = { detail: message, code, ...(violations.length > 0 && { violations }) }
  return writeProblem(statuses[code], members, {
    ...noStore,
    ...(rejection instanceof CredentialRejection && rejection.headers),
    ...(code === 'rate_limited' && retryHeader(retryAfter)),
    // The rest of the body is not worth reading.
    ...(code === 'too_large' && { connection: 'close' }),
  })
}

function retryHeader(seconds = defaultRetryAfter): Record<string, string> {
  return { 'retry-after': String(Math.max(1, Math.ceil(seconds))) }
}

const noStore = { 'cache-control': 'no-store' } as const

/** Writes problem details (RFC 9457), with the reason phrase of the status as the title, and `members`. */
export function writeProblem(
  status: number,
  members: object,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify({ title: STATUS_CODES[status], status, ...members }), {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
  })
}

export const sseHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-store',
  // Without this header proxies delay small answers.
  'x-accel-buffering': 'no',
} as const

const foreignLineEnds = /[\u0085\u2028\u2029]/g

/**
 * Writes JSON as one `data` line of server-sent events (WHATWG HTML §9.2). It escapes U+0085, U+2028 and U+2029, which JSON does not, because some
 * clients end lines there by the rules of Unicode (Python's `splitlines`).
 */
export function toSseJson(value: unknown): string {
  return JSON.stringify(value).replace(foreignLineEnds, end => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
