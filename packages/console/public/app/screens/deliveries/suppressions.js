// Lists the addresses that no longer get mail.
import { api } from '../../lib/api.js'
import { formatInstant } from '../../lib/format.js'
import { html } from '../../lib/html.js'
import { readRelations } from '../../lib/list.js'
import { useLoaded } from '../../lib/load.js'
import { attempt } from '../../parts/toast.js'

/** @param {AbortSignal} signal */
const readSuppressions = signal => readRelations('/operator/api/suppressions', {}, signal)

/** Shows the addresses that get no mail, because they bounced, complained or unsubscribed. */
export function Suppressions() {
  const { answer, refresh } = useLoaded(readSuppressions, 'suppressions', ['delivery', 'message'], 500)
  const list = /** @type {readonly any[]} */ (answer ?? [])
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
      suppression => html`<div class="item" key=${suppression.number}>
        <div class="grow">
          <div>${suppression.peer}</div>
          <div class="muted">from ${suppression.agent}${typeof suppression.target === 'string' ? `: ${suppression.target}` : ''}</div>
        </div>
        <span class="muted">${formatInstant(suppression.since)}</span>
        <button class="btn small" type="button" onClick=${() => lift(suppression)}>Lift<span class="hidden"> the suppression of ${suppression.peer}</span></button>
      </div>`,
    )}
  </section>`
}
