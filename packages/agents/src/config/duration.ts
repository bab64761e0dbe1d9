import { z } from 'zod'

const unitsMs = { ms: 1, s: 1_000, m: 60_000 } as const
const durationPattern = /^(\d{1,6})(ms|s|m)$/
const longestMs = 15 * 60_000

/** `"500ms"`, `"60s"`, `"2m"`; stays text so that a configuration that was read once can be read again. */
export const durationSchema = z.string().refine(text => {
  const ms = parseDeadline(text)
  return ms > 0 && ms <= longestMs
}, 'must be a time such as "60s", "500ms" or "2m", at most 15m')

/** Milliseconds; NaN when `text` is no duration. */
export function parseDeadline(text: string): number {
  const [, amount, unit] = durationPattern.exec(text) ?? []
  return Number(amount) * unitsMs[unit as keyof typeof unitsMs]
}
