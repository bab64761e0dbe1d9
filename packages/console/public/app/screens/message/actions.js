// Renders the buttons of a message: replay, deliver now, copy and save.
import { api } from '../../lib/api.js'
import { decodeBase64 } from '../../lib/format.js'
import { html } from '../../lib/html.js'
import { copyText, saveFile } from '../../parts/copy.js'
import { attempt } from '../../parts/toast.js'
import { changeAll } from '../deliveries/change.js'
import { writeCurl } from './curl.js'
import { redact } from './redact.js'

/** Shows the buttons for the operator's actions on a message. @param {{ record: any, replay: () => void, refresh: () => void }} props */
export function Actions({ record, replay, refresh }) {
  const open = record.deliveries.filter(
    (/** @type {any} */ { state }) => state === 'later' || state === 'dead' || state === 'queued',
  )
  const retry = () => changeAll(open, 'retry', refresh)
  const name = `message-${record.number}`
  const agent = record.message.recipient.split('@')[1] ?? ''
  const readReceived = () => api(`/operator/api/messages/${encodeURIComponent(`#${record.number}`)}/received`)
  const copyCurl = () =>
    attempt(async () => copyText(writeCurl(await readReceived(), agent, location.origin), 'Command'))
  const saveRaw = () =>
    attempt(async () => {
      const { bytes, via } = await readReceived()
      const [ending, type] = via === 'email' ? ['eml', 'message/rfc822'] : ['json', 'application/json']
      saveFile(`${name}.${ending}`, decodeBase64(bytes), type)
    })
  return html`
    <button class="btn primary" type="button" onClick=${replay}>Replay <kbd>r</kbd></button>
    ${open.length > 0 && html`<button class="btn" type="button" onClick=${retry}>Deliver now</button>`}
    ${record.message.raw !== undefined && html`<button class="btn" type="button" onClick=${copyCurl}>Copy as curl</button>`}
    <button class="btn" type="button" onClick=${() => saveFile(`${name}.fixture.json`, writeFixture(record), 'application/json')}>Save as fixture</button>
    <button class="btn" type="button" onClick=${() => saveFile(`${name}.trace.json`, JSON.stringify(redact(record), null, 2), 'application/json')}>
      Redacted trace
    </button>
    ${record.message.raw !== undefined && html`<button class="btn" type="button" onClick=${saveRaw}>Raw bytes</button>`}
  `
}

/** @param {any} record */
function writeFixture({ message, proofs, response }) {
  const { raw, ...normalized } = message
  return JSON.stringify({ channel: message.received_via, raw, proofs, message: normalized, response }, null, 2)
}
