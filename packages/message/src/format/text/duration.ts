// Parses durations such as `30m`.
const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Returns the milliseconds of a text such as `500ms`, `30m` or `7d`; NaN for any other text. The schema of each setting limits the units and the range. */
export function parseDuration(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})(ms|[smhd])$/.exec(text) ?? []
  return Number(count) * (unitsMs[unit] ?? Number.NaN)
}
