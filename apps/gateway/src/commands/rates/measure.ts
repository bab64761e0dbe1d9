import type { MessageTiming } from '@postern/core'

const spanMs = 5 * 60_000
const spanCount = 12
/** What is measured, ms. */
export const measuredMs = spanMs * spanCount

interface MeasuredPeriod {
  /** ms */
  readonly since: number
  readonly until: number
}

/** How many messages there are, and how long 95 of 100 took at most. */
function measureSpan(timings: readonly MessageTiming[]) {
  const taken = timings.flatMap(({ tookMs }) => tookMs ?? []).toSorted((one, other) => one - other)
  const p95 = taken[Math.ceil(taken.length * 0.95) - 1]
  return { messages: timings.length, ...(p95 !== undefined && { p95_ms: Math.round(p95) }) }
}

/** Figures of one channel over the last hour. */
export function measureChannel(timings: readonly MessageTiming[], { since, until }: MeasuredPeriod) {
  const spans = Array.from({ length: spanCount }, (): MessageTiming[] => [])
  for (const timing of timings) {
    const age = Math.min(measuredMs - 1, Math.max(0, until - timing.at))
    spans[spanCount - 1 - Math.floor(age / spanMs)]?.push(timing)
  }
  return {
    ...measureSpan(timings),
    per_hour: Math.round((timings.length * measuredMs) / Math.max(1, until - since)),
    spans: spans.map(measureSpan),
  }
}
