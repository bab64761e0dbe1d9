// Formats durations and instants for people.

const units = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const

/** Formats a duration as `0.4 ms`, `12 ms`, `1.5 s` or `2.3 h`. */
export function formatDuration(ms: number): string {
  const largestUnit = units.find(([size]) => ms >= size)
  if (!largestUnit) return `${ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`
  const [size, unit] = largestUnit
  const count = ms / size
  return `${count < 10 ? Math.round(count * 10) / 10 : Math.round(count)} ${unit}`
}

/** Formats an instant to the second. */
export function formatInstant(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
