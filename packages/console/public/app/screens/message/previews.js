import { html } from '../../lib/html.js'
import { Json } from '../../parts/json.js'
import { Tabs } from '../../parts/tabs.js'
import { MailFrame } from './mail-frame.js'
import { Markdown, wordsOf } from './markdown.js'

const views = [
  { name: 'post', via: 'activitypub', view: Post },
  { name: 'mail', via: 'email', view: Mail },
  { name: 'task', via: 'a2a', view: Task },
  { name: 'chat', via: 'web', view: Chat },
]

/** One answer as each channel shows it; where it went, as it was sent. @param {{ record: any }} props */
export function Previews({ record }) {
  if (!record.response) return html`<p class="muted">There is no answer to show yet.</p>`
  const first = views.find(({ via }) => via === record.message.received_via)?.name ?? 'post'
  const tabs = views.map(({ name, via, view: View }) => ({
    name,
    view: () => {
      const wire = record.deliveries.find((/** @type {any} */ each) => each.via === via && each.wire)?.wire
      return html`<div class="stack">
        <${View} record=${record} wire=${wire} />
        <p class="faint">${wire ? 'As it was sent.' : 'How it would look: it did not go this way.'}</p>
        ${wire && html`<details><summary class="muted">wire</summary><${Json} value=${wire} label="wire document" /></details>`}
      </div>`
    },
  }))
  return html`<${Tabs} label="The answer by channel" tabs=${tabs} first=${first} />`
}

/** @param {any} record */
const nameOf = ({ message }) => message.recipient.split('@')[1] ?? ''

/** @param {{ record: any }} props */
function Post({ record }) {
  const { response, message } = record
  return html`<article class="card">
    <dl class="facts">
      <dt>From</dt><dd>${message.recipient}</dd>
      <dt>To</dt><dd>${[message.sender.address, ...(response.mentions ?? [])].join(', ')}</dd>
      ${response.subject && html`<dt>Warning</dt><dd>${response.subject}</dd>`}
    </dl>
    <div class="body"><${Markdown} text=${wordsOf(response.parts)} /></div>
  </article>`
}

/** @param {{ record: any, wire: any }} props */
function Mail({ record, wire }) {
  const { response, message } = record
  const asked = message.parts.find((/** @type {any} */ { kind }) => kind === 'email')?.subject
  const subject = wire?.subject ?? response.subject ?? (asked ? `Re: ${asked}` : 'Re: your message')
  const from = wire?.from
    ? `${wire.from.name} <${wire.from.address}>`
    : `${nameOf(record)} <${message.recipient.slice(1)}>`
  const to = wire?.to ? `${wire.to.name ?? ''} <${wire.to.address}>` : message.sender.address.replace(/^@/, '')
  return html`<article class="card">
    <dl class="facts"><dt>From</dt><dd>${from}</dd><dt>To</dt><dd>${to}</dd><dt>Subject</dt><dd>${subject}</dd></dl>
    ${
      typeof wire?.html === 'string'
        ? html`<${MailFrame} markup=${wire.html} />`
        : html`<div class="body"><${Markdown} text=${wordsOf(response.parts)} /></div>`
    }
  </article>`
}

/** @param {{ record: any }} props */
function Task({ record }) {
  const { response } = record
  const parts = response.parts.map((/** @type {any} */ part) => (part.kind === 'text' ? { text: part.content } : part))
  const task = {
    id: response.id,
    contextId: response.thread_id,
    status: { state: `TASK_STATE_${String(response.status).toUpperCase()}` },
    artifacts: [{ artifactId: `${response.id}-1`, parts }],
  }
  return html`<${Json} value=${task} label="A2A task" />`
}

/** @param {{ record: any }} props */
function Chat({ record }) {
  const { response, message } = record
  return html`<div class="chat-view">
    <div class="bubble own">${wordsOf(message.parts)}</div>
    <div class="bubble"><${Markdown} text=${wordsOf(response.parts)} /></div>
  </div>`
}
