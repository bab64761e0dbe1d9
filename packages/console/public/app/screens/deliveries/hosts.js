// Shows the waiting deliveries of each host, and whether the host is paused.
import { formatClock, formatCount } from '../../lib/format.js'
import { html } from '../../lib/html.js'
import { Badge } from '../../parts/badges.js'
import { changeAll } from './change.js'
import { formatTimeUntil, Row } from './row.js'

const mostRows = 50

/**
 * Shows each host with pending deliveries or a pause, and the deliveries that wait for it.
 * @param {{ hosts: readonly any[], deliveries: readonly any[], refresh: () => void }} props
 */
export function Hosts({ hosts, deliveries, refresh }) {
  const rows = Map.groupBy(deliveries, ({ to }) => hostOf(to))
  return html`${hosts.map(
    host => html`<${Host} key=${host.host} host=${host} rows=${rows.get(host.host) ?? []} refresh=${refresh} />`,
  )}`
}

/** Returns the host of a destination in the gateway's form: a URL's host with its port, or a mailbox's domain. @param {string} to */
function hostOf(to) {
  if (/^https?:/i.test(to) && URL.canParse(to)) return new URL(to).host
  const name = to.replace(/^@/, '')
  return name.slice(name.indexOf('@') + 1).toLowerCase()
}

/** @param {{ host: any, rows: readonly any[], refresh: () => void }} props */
function Host({
  host: { host, deliveries, failing, next_attempt_at, breaker, open_until, retry_after },
  rows,
  refresh,
}) {
  const facts = [
    formatCount(deliveries, 'delivery', 'deliveries'),
    failing > 0 && failing < deliveries ? `${failing} tried in vain` : '',
    next_attempt_at ? `next attempt ${formatTimeUntil(next_attempt_at)}` : deliveries > 0 ? 'being tried' : '',
  ]
  const hidden = deliveries - Math.min(rows.length, mostRows)
  const isFailing = failing > 0
  return html`<section class="panel" aria-label=${host}>
    <header>
      <h2 class="cut">${host}</h2>
      <${State} breaker=${breaker} retryAfter=${retry_after} isFailing=${isFailing} />
      <span class="muted grow">${facts.filter(Boolean).join(' · ')}</span>
      ${rows.length > 0 && isFailing && html`<button class="btn small" type="button" onClick=${() => changeAll(rows, 'retry', refresh)}>Try all now</button>`}
    </header>
    ${breaker === 'open' && html`<p class="hint">It did not answer several times in a row. One attempt goes out ${formatTimeUntil(open_until)} (${formatClock(open_until)}); when that is taken, the others follow.</p>`}
    ${retry_after && html`<p class="hint">It asked for time with <code>Retry-After</code>: nothing is sent to it before ${formatClock(retry_after)}, ${formatTimeUntil(retry_after)}.</p>`}
    ${rows.slice(0, mostRows).map(each => html`<${Row} key=${each.id} delivery=${each} refresh=${refresh} />`)}
    ${hidden > 0 && html`<div class="item muted">and ${hidden.toLocaleString('en')} more</div>`}
  </section>`
}

/** @param {{ breaker: string, retryAfter?: string, isFailing: boolean }} props */
function State({ breaker, retryAfter, isFailing }) {
  if (breaker === 'open') return html`<${Badge} kind="bad">left alone<//>`
  if (retryAfter) return html`<${Badge} kind="warn">asked for time<//>`
  return isFailing ? html`<${Badge} kind="warn">failing<//>` : html`<${Badge} kind="good">flowing<//>`
}
