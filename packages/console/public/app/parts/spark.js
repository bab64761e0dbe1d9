// Draws a small chart of rate and latency over the same time.
import { html } from '../lib/html.js'

const width = 110
const height = 28

/**
 * Draws rate and latency as two lines over the same time.
 * @param {{ counts: readonly number[], spans: readonly number[], label: string }} props
 */
export function Spark({ counts, spans, label }) {
  return html`<svg class="spark" viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${label}>
    ${spans.some(span => span > 0) && html`<path class="slow" d=${draw(spans)} />`}
    <path d=${draw(counts)} />
  </svg>`
}

/** @param {readonly number[]} values */
function draw(values) {
  const most = Math.max(...values, 1)
  const step = width / Math.max(1, values.length - 1)
  return values
    .map(
      (value, at) =>
        `${at === 0 ? 'M' : 'L'}${(at * step).toFixed(1)} ${(height - 2 - (value / most) * (height - 4)).toFixed(1)}`,
    )
    .join(' ')
}
