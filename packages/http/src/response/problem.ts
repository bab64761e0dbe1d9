// Writes errors as problem details (RFC 9457).
import { STATUS_CODES } from 'node:http'
import type { Log, RejectionCode } from '@postern/message'
import { Rejection, Unavailable } from '@postern/message'
import { CredentialRejection } from '../tokens/challenges.ts'
import type { PlainAnswer } from './plain-answer.ts'
import { toResponse } from './plain-answer.ts'

const statusByCode: Readonly<Record<RejectionCode, number>> = {
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
 * Returns the response to a peer as problem details (RFC 9457). Errors other than `Rejection` and `Unavailable` are bugs of the gateway. They become
 * a 500 without detail, and the log gets the whole error.
 */
export function toProblem(error: unknown, log?: Log): Response {
  return toResponse(describeProblem(error, log))
}

/** Returns the answer that `toProblem` converts for Hono. */
export function describeProblem(error: unknown, log?: Log): PlainAnswer {
  if (error instanceof Rejection) return problemOf(error)
  if (error instanceof Unavailable) {
    log?.warn({ err: error }, 'request answered as unavailable')
    return renderProblem(
      503,
      { detail: error.message, code: 'unavailable' },
      { ...noStore, ...retryHeader(error.retryAfter) },
    )
  }
  log?.error({ err: error }, 'request failed')
  return renderProblem(500, {}, noStore)
}

/** Returns the status of the response that `toProblem` creates for this error. */
export function problemStatusOf(error: unknown): number {
  if (error instanceof Rejection) return statusByCode[error.code]
  return error instanceof Unavailable ? 503 : 500
}

function problemOf(rejection: Rejection): PlainAnswer {
  const { code, message, violations, retryAfter } = rejection
  const members = { detail: message, code, ...(violations.length > 0 && { violations }) }
  return renderProblem(statusByCode[code], members, {
    ...noStore,
    ...(rejection instanceof CredentialRejection && rejection.headers),
    ...(code === 'rate_limited' && retryHeader(retryAfter)),
    // The remaining body is not read, so the connection cannot be used again.
    ...(code === 'too_large' && { connection: 'close' }),
  })
}

function retryHeader(seconds = defaultRetryAfter): Record<string, string> {
  return { 'retry-after': String(Math.max(1, Math.ceil(seconds))) }
}

const noStore = { 'cache-control': 'no-store' } as const

/** Creates a response of problem details (RFC 9457): `members`, and the reason phrase of the status as the title. */
export function writeProblem(
  status: number,
  members: object,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return toResponse(renderProblem(status, members, headers))
}

function renderProblem(status: number, members: object, headers: PlainAnswer['headers'] = {}): PlainAnswer {
  return {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
    body: JSON.stringify({ title: STATUS_CODES[status], status, ...members }),
  }
}
