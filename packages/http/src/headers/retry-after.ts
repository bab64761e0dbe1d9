/** Longer than anything is waited for. */
const mostSeconds = 7 * 86_400

/**
 * Seconds to wait as a `Retry-After` header names them, as a number or as a date (RFC 9110 §10.2.3), a week at most;
 * undefined when it says nothing. `now` in milliseconds.
 */
export function parseRetryAfter(header: string | null, now: number): number | undefined {
  if (!header) return undefined
  if (/^\s*\d{1,9}\s*$/.test(header)) return Math.min(Number(header), mostSeconds)
  // `Date.parse` makes a date of nearly anything; an HTTP-date begins with the name of a day.
  const date = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(header) ? Date.parse(header) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.min(Math.max(0, Math.ceil((date - now) / 1_000)), mostSeconds)
}
