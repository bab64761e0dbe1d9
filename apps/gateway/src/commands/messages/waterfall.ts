import type { RecordedStage } from './stages.ts'

/** Columns of the axis. */
const width = 32
/** Up to here the axis is even; what takes longer has its beginning spread out. */
const longestEvenMs = 60_000

/** The stages of a message under one axis, a line each: when, how long, where on the axis, and how it came out. */
export function formatWaterfall(stages: readonly RecordedStage[]): readonly string[] {
  const start = Math.min(...stages.map(({ at }) => at))
  const end = Math.max(...stages.map(({ at, ms = 0 }) => at + ms))
  const place = createAxis(end - start)
  const names = Math.max(...stages.map(({ name }) => name.length))
  const heading = `${''.padEnd(names)}  ${'after'.padStart(8)}  ${'took'.padStart(8)}  ${formatDuration(0)}${formatDuration(end - start).padStart(width - formatDuration(0).length)}`
  const lines = stages.map(({ name, at, ms, outcome = '' }) => {
    const [after, took] = [formatDuration(at - start), ms === undefined ? '' : formatDuration(ms)]
    const bar = drawBar(place(at - start), place(at - start + (ms ?? 0)), ms === undefined)
    return `${name.padEnd(names)}  ${after.padStart(8)}  ${took.padStart(8)}  ${bar}  ${outcome}`.trimEnd()
  })
  return [heading, ...lines]
}

/** ms after the start → column. */
function createAxis(total: number): (ms: number) => number {
  const scale = total > longestEvenMs ? Math.log1p : (ms: number) => ms
  const whole = scale(total) || 1
  return ms => Math.min(width - 1, Math.floor((scale(Math.max(0, ms)) / whole) * width))
}

function drawBar(from: number, until: number, isInstant: boolean): string {
  const drawn = isInstant ? '│' : '█'.repeat(Math.max(1, until - from))
  return `${' '.repeat(from)}${drawn}`.slice(0, width).padEnd(width)
}

const units = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const

/** `0.4 ms`, `12 ms`, `1.5 s`, `2.3 h` */
export function formatDuration(ms: number): string {
  const found = units.find(([size]) => ms >= size)
  if (!found) return `${ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`
  const [size, unit] = found
  const count = ms / size
  return `${count < 10 ? Math.round(count * 10) / 10 : Math.round(count)} ${unit}`
}
