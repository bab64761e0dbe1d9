// Computes a time axis that shortens long waits.
/**
 * A time axis with shortened waits: a gap between bars takes at most a quarter of the total length of the bars.
 * @typedef {object} Axis
 * @property {(at: number) => number} position of an instant, 0 to 1
 * @property {readonly { position: number, after: number }[]} ticks `after`: ms after the first instant
 */

const marks = 5
/** The length that a wait may always have on the axis, ms. */
const leastGap = 200

/** @param {readonly { from: number, to: number }[]} bars @returns {Axis} */
export function createAxis(bars) {
  const merged = merge(bars)
  const start = merged[0]?.from ?? 0
  const busy = merged.reduce((sum, { from, to }) => sum + to - from, 0)
  const most = Math.max(leastGap, busy * 0.25)
  /** @type {{ at: number, drawn: number }[]} */
  const knots = []
  let drawn = 0
  let last = start
  for (const { from, to } of merged) {
    drawn += Math.min(from - last, most)
    knots.push({ at: from, drawn })
    drawn += to - from
    knots.push({ at: to, drawn })
    last = to
  }
  const length = Math.max(1, drawn)
  return {
    position: at => interpolate(knots, at, 'at', 'drawn') / length,
    ticks: Array.from({ length: marks }, (_, index) => {
      const position = index / marks
      return { position, after: interpolate(knots, position * length, 'drawn', 'at') - start }
    }),
  }
}

/** @param {readonly { from: number, to: number }[]} bars */
function merge(bars) {
  const sorted = bars
    .map(({ from, to }) => ({ from, to: Math.max(from, to) }))
    .sort((one, other) => one.from - other.from)
  /** @type {{ from: number, to: number }[]} */
  const merged = []
  for (const bar of sorted) {
    const last = merged.at(-1)
    if (last && bar.from <= last.to) last.to = Math.max(last.to, bar.to)
    else merged.push(bar)
  }
  return merged
}

/**
 * @param {readonly { at: number, drawn: number }[]} knots @param {number} value
 * @param {'at' | 'drawn'} from @param {'at' | 'drawn'} to
 */
function interpolate(knots, value, from, to) {
  const after = knots.findIndex(knot => knot[from] >= value)
  const [right, left] = [knots[after], knots[after - 1]]
  if (!right) return knots.at(-1)?.[to] ?? 0
  if (!left || right[from] === left[from]) return right[to]
  return left[to] + ((value - left[from]) / (right[from] - left[from])) * (right[to] - left[to])
}
