// Lists deliveries that the gateway has given up, so that the operator can retry or dismiss them.
import { useSignal } from '../../../vendor/signals.js'
import { formatCount } from '../../lib/format.js'
import { html } from '../../lib/html.js'
import { Confirm } from '../../parts/dialog.js'
import { changeAll } from './change.js'
import { Row } from './row.js'

/**
 * Shows the deliveries that were given up, and lets the operator select some.
 * @param {{ deliveries: readonly any[], hasMore: boolean, refresh: () => void }} props
 */
export function DeadLetters({ deliveries, hasMore, refresh }) {
  const chosen = useSignal(/** @type {ReadonlySet<string>} */ (new Set()))
  const isAsking = useSignal(false)
  const isAll = deliveries.every(({ id }) => chosen.value.has(id))
  const picked = deliveries.filter(({ id }) => chosen.value.has(id))
  /** @param {string} id */
  const toggle = id => {
    const next = new Set(chosen.value)
    if (!next.delete(id)) next.add(id)
    chosen.value = next
  }
  /** @param {'retry' | 'dismiss'} action */
  const change = async action => {
    await changeAll(picked, action, refresh)
    chosen.value = new Set()
  }
  return html`<section class="panel" aria-label="Dead letters">
    <header>
      <label class="choice">
        <input type="checkbox" checked=${isAll} onChange=${() => (chosen.value = new Set(isAll ? [] : deliveries.map(({ id }) => id)))} />
        <h2>Dead letters</h2>
      </label>
      <span class="muted grow">Given up for good, or after too long</span>
      <button class="btn small" type="button" disabled=${picked.length === 0} onClick=${() => change('retry')}>Retry ${picked.length || ''}</button>
      <button class="btn small danger" type="button" disabled=${picked.length === 0} onClick=${() => (isAsking.value = true)}>Dismiss ${picked.length || ''}</button>
    </header>
    ${deliveries.map(each => html`<${Row} key=${each.id} delivery=${each} refresh=${refresh} isChosen=${chosen.value.has(each.id)} choose=${() => toggle(each.id)} />`)}
    ${hasMore && html`<div class="item muted">There are older ones. They appear once these are retried or dismissed.</div>`}
    ${
      isAsking.value &&
      html`<${Confirm}
        title=${`Dismiss ${formatCount(picked.length, 'dead letter')}?`}
        text="They stay on record and leave the count. Nobody is told."
        act="Dismiss"
        danger=${true}
        close=${() => (isAsking.value = false)}
        run=${() => change('dismiss')}
      />`
    }
  </section>`
}
