const mostSeconds = 7 * 86_400

/**
 * Seconds of a `Retry-After` header in its number form (RFC 9110 §10.2.3), capped at a week; `now` (ms) reads the date
 * form as well. Undefined when there is none.
 */
export function parseRetryAfter(header: string | null, now?: number): number | undefined {
  if (!header) return undefined
  if (/^\d{1,9}$/.test(header)) return Math.min(Number(header), mostSeconds)
  const at = Date.parse(header)
  if (now === undefined || Number.isNaN(at)) return undefined
  return Math.min(Math.max(0, Math.ceil((at - now) / 1_000)), mostSeconds)
}
