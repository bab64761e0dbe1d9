import { useEffect } from '../../../vendor/hooks.js'
import { useSignal } from '../../../vendor/signals.js'
import { api } from '../../lib/api.js'
import { html } from '../../lib/html.js'
import { Dialog } from '../../parts/dialog.js'
import { Problem } from '../../parts/empty.js'
import { Json } from '../../parts/json.js'

/** The message once more through today's code, without sending anything; what is different. @param {{ record: any, close: () => void }} props */
export function Replay({ record, close }) {
  const result = useSignal(/** @type {any} */ (undefined))
  const error = useSignal(/** @type {Error | undefined} */ (undefined))
  useEffect(() => {
    api(`/operator/api/messages/${record.number}/replay`, { method: 'POST', body: {} })
      .then(answer => {
        result.value = answer
      })
      .catch(reason => {
        error.value = reason
      })
  }, [])
  return html`<${Dialog} title="Replay" close=${close} large=${true}>
    <div>
      <h1>Replay of #${record.number}</h1>
      <p class="muted">The stored bytes went through today's code and agent, with the clock and the keys of then. Nothing was sent.</p>
      <${Problem} error=${error.value} />
      ${result.value ? html`<${Json} value=${result.value} label="differences" />` : !error.value && html`<p role="status">The agent is asked again …</p>`}
      <div class="ends"><button class="btn" type="button" onClick=${close}>Close</button></div>
    </div>
  <//>`
}
