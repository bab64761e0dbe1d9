// Parses the Retry-After header (RFC 9110 §10.2.3).
import { maxRetryAfterSeconds } from '@postern/message'

/**
 * Returns the seconds in a `Retry-After` header, from a number or a date (RFC 9110 §10.2.3), at most a week. Returns undefined if the header is
 * invalid. `now` is in milliseconds.
 */
export function parseRetryAfter(header: string | null, now: number): number | undefined {
  if (!header) return undefined
  if (/^\s*\d{1,9}\s*$/.test(header)) return Math.min(Number(header), maxRetryAfterSeconds)
  // `Date.parse` accepts nearly anything. An HTTP-date begins with the name of a day.
  const date = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(header) ? Date.parse(header) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.min(Math.max(0, Math.ceil((date - now) / 1_000)), maxRetryAfterSeconds)
}
