import { api } from '../../lib/api.js'
import { html } from '../../lib/html.js'
import { copyText, saveFile } from '../../parts/copy.js'
import { attempt } from '../../parts/toast.js'
import { redact } from './redact.js'

/** What an operator may do with a message. @param {{ record: any, replay: () => void, refresh: () => void }} props */
export function Actions({ record, replay, refresh }) {
  const open = record.deliveries.filter(
    (/** @type {any} */ { state }) => state === 'later' || state === 'dead' || state === 'queued',
  )
  const retry = () =>
    attempt(async () => {
      for (const { id } of open) await api(`/operator/api/deliveries/${id}/retry`, { method: 'POST' })
      refresh()
    }, 'It is tried again now')
  const name = `message-${record.number}`
  return html`
    <button class="btn primary" type="button" onClick=${replay}>Replay <kbd>r</kbd></button>
    ${open.length > 0 && html`<button class="btn" type="button" onClick=${retry}>Deliver now</button>`}
    <button class="btn" type="button" onClick=${() => copyText(writeCurl(record), 'Command')}>Copy as curl</button>
    <button class="btn" type="button" onClick=${() => saveFile(`${name}.fixture.json`, writeFixture(record), 'application/json')}>Save as fixture</button>
    <button class="btn" type="button" onClick=${() => saveFile(`${name}.trace.json`, JSON.stringify(redact(record), null, 2), 'application/json')}>
      Redacted trace
    </button>
    ${record.message.raw !== undefined && html`<button class="btn" type="button" onClick=${() => saveRaw(record, name)}>Raw bytes</button>`}
  `
}

/** @param {any} record @param {string} name */
function saveRaw({ message: { raw } }, name) {
  if (typeof raw === 'string') saveFile(`${name}.eml`, raw, 'message/rfc822')
  else saveFile(`${name}.json`, JSON.stringify(raw, null, 2), 'application/json')
}

/** @param {any} record */
function writeFixture({ message, proofs, response }) {
  const { raw, ...normalized } = message
  return JSON.stringify({ channel: message.received_via, raw, proofs, message: normalized, response }, null, 2)
}

/** A command that reads this record again; programs bear the operator token. @param {any} record */
export function writeCurl({ number }) {
  const url = `${location.origin}/operator/api/messages/${number}`
  return `curl -H "authorization: Bearer $OPERATOR_TOKEN" '${url}'`
}
