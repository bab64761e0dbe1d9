/** Nothing waits longer than this. */
const mostSeconds = 7 * 86_400

/**
 * The seconds in a `Retry-After` header, from a number or a date (RFC 9110 §10.2.3), a week at most; undefined when it is invalid. `now` in
 * milliseconds.
 */
export function parseRetryAfter(header: string | null, now: number): number | undefined {
  if (!header) return undefined
  if (/^\s*\d{1,9}\s*$/.test(header)) return Math.min(Number(header), mostSeconds)
  // `Date.parse` accepts nearly anything. An HTTP-date begins with the name of a day.
  const date = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(header) ? Date.parse(header) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.min(Math.max(0, Math.ceil((date - now) / 1_000)), mostSeconds)
}
