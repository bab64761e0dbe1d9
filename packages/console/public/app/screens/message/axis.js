// Computes a time axis that shortens long waits.
/**
 * A time axis with shortened waits: a gap between bars takes at most a quarter of the total length of the bars.
 * @typedef {object} Axis
 * @property {(at: number) => number} position of an instant, 0 to 1
 * @property {readonly { position: number, after: number }[]} ticks each with its position and the time `after` the first instant, ms
 */

const tickCount = 5
/** The length that a wait may always have on the axis, ms. */
const minGapMs = 200

/** @param {readonly { from: number, to: number }[]} bars @returns {Axis} */
export function createAxis(bars) {
  const mergedBars = merge(bars)
  const start = mergedBars[0]?.from ?? 0
  const totalBarMs = mergedBars.reduce((sum, { from, to }) => sum + to - from, 0)
  const maxGapMs = Math.max(minGapMs, totalBarMs * 0.25)
  /** @type {{ at: number, drawnMs: number }[]} */
  const scalePoints = []
  let drawnMs = 0
  let previousEnd = start
  for (const { from, to } of mergedBars) {
    drawnMs += Math.min(from - previousEnd, maxGapMs)
    scalePoints.push({ at: from, drawnMs })
    drawnMs += to - from
    scalePoints.push({ at: to, drawnMs })
    previousEnd = to
  }
  const length = Math.max(1, drawnMs)
  return {
    position: at => interpolate(scalePoints, at, 'at', 'drawnMs') / length,
    ticks: Array.from({ length: tickCount }, (_, index) => {
      const position = index / tickCount
      return { position, after: interpolate(scalePoints, position * length, 'drawnMs', 'at') - start }
    }),
  }
}

/** @param {readonly { from: number, to: number }[]} bars */
function merge(bars) {
  const sorted = bars
    .map(({ from, to }) => ({ from, to: Math.max(from, to) }))
    .sort((left, right) => left.from - right.from)
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
 * @param {readonly { at: number, drawnMs: number }[]} knots @param {number} value
 * @param {'at' | 'drawnMs'} sourceField @param {'at' | 'drawnMs'} targetField
 */
function interpolate(knots, value, sourceField, targetField) {
  const index = knots.findIndex(knot => knot[sourceField] >= value)
  const [right, left] = [knots[index], knots[index - 1]]
  if (!right) return knots.at(-1)?.[targetField] ?? 0
  if (!left || right[sourceField] === left[sourceField]) return right[targetField]
  return (
    left[targetField] +
    ((value - left[sourceField]) / (right[sourceField] - left[sourceField])) * (right[targetField] - left[targetField])
  )
}
