// Distinguishes HTTP statuses that may succeed on a retry from those that will not.

import type { HttpResponseStatus } from '@postern/http'
import { formatStatus, parseRetryAfter } from '@postern/http'
import { Unavailable } from '@postern/message'

/** The statuses of transient failures, in addition to every 5xx (RFC 9110 §15, RFC 8470 §5.2, RFC 6585 §4). */
const transientStatuses: ReadonlySet<number> = new Set([408, 425, 429])

export function isTransientStatus(status: number): boolean {
  return status >= 500 || transientStatuses.has(status)
}

/** A server that an agent calls over HTTP. */
interface ServerReference {
  /** The kind of server in errors, such as `webhook` or `model`. */
  readonly serverName: string
  readonly url: string
}

/** Checks the status of an answer. @throws Unavailable with the server's Retry-After if the status may pass on a retry */
export function throwIfTransient(
  { serverName, url }: ServerReference,
  response: HttpResponseStatus,
  now: number,
): void {
  if (!isTransientStatus(response.status)) return
  const retryAfter = parseRetryAfter(response.headers.get('retry-after'), now)
  throw new Unavailable(`The ${serverName} answered ${formatStatus(url, response)}`, { retryAfter })
}
