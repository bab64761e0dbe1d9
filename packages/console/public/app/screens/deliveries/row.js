// Renders a delivery as a row of a table.
import { now } from '../../lib/clock.js'
import { formatCount, formatLongDuration } from '../../lib/format.js'
import { html } from '../../lib/html.js'
import { linkTo } from '../../lib/router.js'
import { Channel } from '../../parts/badges.js'
import { changeAll } from './change.js'

/** @param {string | number} at an instant */
export function formatTimeUntil(at) {
  const remainingMs = new Date(at).getTime() - now.value
  return remainingMs > 0 ? `in ${formatLongDuration(remainingMs)}` : 'now'
}

/** @param {{ delivery: any, refresh: () => void, isChosen?: boolean, choose?: () => void }} props */
export function Row({ delivery, refresh, isChosen, choose }) {
  const { id, via, to, attempts, last_error, next_attempt_at, message_id, state } = delivery
  const facts = [
    formatCount(attempts, 'attempt'),
    next_attempt_at && state === 'later' ? `next ${formatTimeUntil(next_attempt_at)}` : '',
  ]
  return html`<div class="item delivery">
    ${choose && html`<input type="checkbox" checked=${isChosen} onChange=${choose} aria-label=${`Choose the delivery to ${to}`} />`}
    <${Channel} name=${via} />
    <div class="grow">
      <div>${to}</div>
      <div class=${state === 'dead' ? 'bad' : 'muted'}>${last_error ?? state}</div>
      <div class="muted">
        ${facts.filter(Boolean).join(' · ')} · <a class="link" href=${linkTo('message', { subject: message_id })}>message</a>
      </div>
    </div>
    <button class="btn small" type="button" onClick=${() => changeAll([delivery], 'retry', refresh)}>Try now<span class="hidden"> delivery ${id}</span></button>
  </div>`
}
