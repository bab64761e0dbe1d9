// Shows an answer as each channel sends it.
import { useSignal } from '../../../vendor/signals.js'
import { html } from '../../lib/html.js'
import { useAnswer } from '../../lib/load.js'
import { Dialog } from '../../parts/dialog.js'
import { Problem } from '../../parts/empty.js'
import { Json } from '../../parts/json.js'
import { Tabs } from '../../parts/tabs.js'
import { MailFrame } from './mail-frame.js'
import { Markdown, wordsOf } from './markdown.js'

/** @typedef {{ via: string, is_sent: boolean, documents: readonly any[] }} Preview */
/** @typedef {{ record: any, documents: readonly any[] }} Shown */

const views = [
  { name: 'post', via: 'activitypub', view: Posts },
  { name: 'mail', via: 'email', view: Mails },
  { name: 'task', via: 'a2a', view: Task },
  { name: 'chat', via: 'web', view: Chat },
]

/** Shows an answer as each channel sends it, or would send it. @param {{ record: any }} props */
export function Previews({ record }) {
  const isWide = useSignal(false)
  const path = record.response
    ? `/operator/api/messages/${encodeURIComponent(`#${record.number}`)}/previews`
    : undefined
  const { answer, error, refresh } = useAnswer(path, ['turn', 'delivery'])
  if (!record.response) return html`<p class="muted">There is no answer to show yet.</p>`
  if (error) return html`<${Problem} error=${error} retry=${refresh} />`
  const previews = /** @type {readonly Preview[]} */ (answer?.previews ?? [])
  const first = views.find(({ via }) => via === record.message.received_via)?.name ?? 'post'
  const tabs = views.map(each => ({
    name: each.name,
    view: () => html`<${Panel} each=${each} record=${record} previews=${previews} isLoaded=${answer !== undefined} />`,
  }))
  return html`<div class="previews">
    <button class="btn small" type="button" onClick=${() => (isWide.value = true)}>Side by side</button>
    <${Tabs} label="The answer by channel" tabs=${tabs} first=${first} />
    ${
      isWide.value &&
      html`<${Dialog} title="The answer side by side" large=${true} close=${() => (isWide.value = false)}>
        <div>
          <h1>One answer on each channel</h1>
          <div class="grid-2">
            ${views.map(
              each => html`<section key=${each.name} class="stack" aria-label=${each.name}>
                <h2>${each.name}</h2>
                <${Panel} each=${each} record=${record} previews=${previews} isLoaded=${answer !== undefined} />
              </section>`,
            )}
          </div>
          <div class="ends"><button class="btn" type="button" onClick=${() => (isWide.value = false)}>Close</button></div>
        </div>
      <//>`
    }
  </div>`
}

/** @param {{ each: typeof views[number], record: any, previews: readonly Preview[], isLoaded: boolean }} props */
function Panel({ each: { via, view: View }, record, previews, isLoaded }) {
  const preview = previews.find(each => each.via === via)
  if (!isLoaded) return html`<div class="card placeholder" role="status"><span class="hidden">Loading</span></div>`
  if (!preview || preview.documents.length === 0)
    return html`<p class="muted">Nothing of it goes this way${preview ? '' : ': the channel is not open'}.</p>`
  return html`<div class="stack">
    <${View} record=${record} documents=${preview.documents} />
    <p class="faint">${preview.is_sent ? 'As it was sent.' : 'As the gateway would send it: it did not go this way.'}</p>
    ${via !== 'a2a' && html`<details><summary class="muted">wire</summary><${Json} value=${preview.documents.length === 1 ? preview.documents[0] : preview.documents} label="wire document" /></details>`}
  </div>`
}

/** @param {unknown} value @returns {string} */
function list(value) {
  return (Array.isArray(value) ? value : [value]).filter(each => typeof each === 'string').join(', ')
}

/** @param {Shown} props */
function Posts({ documents }) {
  return html`${documents.map((document, at) => {
    const { attributedTo, to, cc, summary, content, attachment = [] } = document?.object ?? {}
    const people = [...[to].flat(), ...[cc].flat()].filter(Boolean)
    return html`<article class="card" key=${at}>
      <dl class="facts">
        <dt>From</dt><dd>${list(attributedTo)}</dd>
        <dt>To</dt><dd>${list(people)}</dd>
        ${summary && html`<dt>Warning</dt><dd>${list(summary)}</dd>`}
        ${attachment.length > 0 && html`<dt>Files</dt><dd>${list(attachment.map((/** @type {any} */ { name, url }) => name ?? url))}</dd>`}
      </dl>
      <${MailFrame} markup=${String(content ?? '')} title="The post as its reader sees it" />
    </article>`
  })}`
}

/** @param {{ name?: string, address?: string } | undefined} mailbox */
const showMailbox = ({ name, address } = {}) => (name ? `${name} <${address}>` : String(address ?? ''))

/** @param {Shown} props */
function Mails({ documents }) {
  return html`${documents.map(
    ({ from, to, subject, html: markup, text, attachments = [] }, at) => html`<article class="card" key=${at}>
      <dl class="facts">
        <dt>From</dt><dd>${showMailbox(from)}</dd>
        <dt>To</dt><dd>${showMailbox(to)}</dd>
        <dt>Subject</dt><dd>${subject}</dd>
        ${attachments.length > 0 && html`<dt>Files</dt><dd>${list(attachments.map((/** @type {any} */ { name, mime }) => name ?? mime))}</dd>`}
      </dl>
      ${typeof markup === 'string' ? html`<${MailFrame} markup=${markup} />` : html`<div class="body">${text}</div>`}
    </article>`,
  )}`
}

/** @param {Shown} props */
function Task({ documents }) {
  return html`<${Json} value=${documents[0]} label="A2A task" />`
}

/** @param {Shown} props */
function Chat({ record, documents }) {
  return html`<div class="chat-view">
    <div class="bubble own">${wordsOf(record.message.parts)}</div>
    ${documents.map(({ content }, at) => html`<div class="bubble" key=${at}><${Markdown} text=${String(content ?? '')} /></div>`)}
  </div>`
}
