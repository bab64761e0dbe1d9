// Draws the stages of a message on one time axis.
import { formatDuration } from '../../lib/format.js'
import { html } from '../../lib/html.js'
import { createAxis } from './axis.js'
import { listStages } from './stages.js'

/** Shows each stage on one time axis. @param {{ record: any }} props */
export function Waterfall({ record }) {
  const stages = listStages(record)
  const waits = new Set(['queue'])
  const bars = stages.flatMap(stage => stage.bars)
  const axis = createAxis(bars.filter(({ kind, from, to }) => !waits.has(kind) || to - from < 1_000))
  return html`<section class="waterfall" aria-label="What happened">
    <div class="stage axis" aria-hidden="true">
      <span>what happened</span>
      <div>${axis.ticks.map(({ position, after }) => html`<i style=${{ left: `${position * 100}%` }}>${after === 0 ? '0' : formatDuration(after)}</i>`)}</div>
      <span class="num">took</span>
    </div>
    <ol>
      ${stages.map((stage, at) => html`<${Row} key=${at} stage=${stage} axis=${axis} />`)}
    </ol>
  </section>`
}

/** @param {{ stage: import('./stages.js').Stage, axis: import('./axis.js').Axis }} props */
function Row({ stage, axis }) {
  const { name, note, bars, isSub, tone = '' } = stage
  const took = stage.ms ?? (bars.length > 0 ? bars.reduce((sum, { from, to }) => sum + to - from, 0) : undefined)
  const end = Math.max(0, ...bars.map(({ to }) => axis.position(to)))
  const start = Math.min(1, ...bars.map(({ from }) => axis.position(from)))
  // The label stands beside the bar, on the side with more space.
  const isLeft = end > 0.6 && start > 0.35
  const noteStyle = isLeft
    ? { right: `calc(${(1 - start) * 100}% + 8px)`, maxWidth: `${start * 100}%` }
    : { left: `calc(${end * 100}% + 8px)`, right: 0 }
  return html`<li class=${`stage ${isSub ? 'sub' : ''}`} title=${`${name}${note ? `: ${note}` : ''}`}>
    <span class="cut">${name}</span>
    <div class="track">
      ${bars.map(({ from, to, kind }) => {
        const [left, right] = [axis.position(from), axis.position(to)]
        return html`<i class=${`span ${kind}`} style=${{ left: `min(${left * 100}%, 100% - 3px)`, width: `${Math.max(0, right - left) * 100}%` }}></i>`
      })}
      ${note && html`<span class=${`note ${tone}`} style=${noteStyle}>${note}</span>`}
    </div>
    <span class="num muted">${took === undefined ? '' : formatDuration(took)}</span>
  </li>`
}
