import type { FetchAnswer } from '@postern/core'
import { Unavailable } from '@postern/core'
import { parseRetryAfter } from '@postern/http'

/** Statuses that may pass, besides every 5xx (RFC 9110 §15, RFC 8470 §5.2, RFC 6585 §4). */
const passingStatuses: ReadonlySet<number> = new Set([408, 425, 429])

export function isPassingStatus(status: number): boolean {
  return status >= 500 || passingStatuses.has(status)
}

/** @throws Unavailable with its Retry-After, when `who` asks us to come again */
export function checkPassingStatus(
  who: string,
  { status, headers }: Pick<FetchAnswer, 'status' | 'headers'>,
  now: number,
): void {
  if (!isPassingStatus(status)) return
  const retryAfter = parseRetryAfter(headers.get('retry-after'), now)
  throw new Unavailable(`The ${who} answered ${status}`, { retryAfter })
}
