import { api } from '../../lib/api.js'
import { moment } from '../../lib/format.js'
import { html } from '../../lib/html.js'
import { rowsOf } from '../../lib/list.js'
import { useAnswer } from '../../lib/load.js'
import { attempt } from '../../parts/toast.js'

/** Addresses that get no mail: they bounced, complained or unsubscribed. */
export function Suppressions() {
  const { answer, refresh } = useAnswer('/operator/api/suppressions?limit=500', ['delivery', 'message'], 500)
  const list = rowsOf(answer, 'suppressions') ?? []
  if (list.length === 0) return null
  /** @param {any} suppression */
  const lift = ({ agent, peer }) =>
    attempt(async () => {
      await api('/operator/api/suppressions/lift', { method: 'POST', body: { agent, peer } })
      refresh()
    }, 'Mail is sent there again')
  return html`<section class="panel" aria-label="Suppressed addresses">
    <header><h2>Suppressed addresses</h2><span class="muted">They get no mail until you lift it, or they write themselves</span></header>
    ${list.map(
      suppression => html`<div class="item" key=${suppression.place}>
        <div class="grow">
          <div>${suppression.peer}</div>
          <div class="muted">from ${suppression.agent}${typeof suppression.target === 'string' ? `: ${suppression.target}` : ''}</div>
        </div>
        <span class="muted">${moment(suppression.since)}</span>
        <button class="btn small" type="button" onClick=${() => lift(suppression)}>Lift<span class="hidden"> the suppression of ${suppression.peer}</span></button>
      </div>`,
    )}
  </section>`
}
