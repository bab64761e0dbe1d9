import { useSignal } from '../../vendor/signals.js'
import { api, withQuery } from '../lib/api.js'
import { counted, moment, oneLine } from '../lib/format.js'
import { html } from '../lib/html.js'
import { rowsOf } from '../lib/list.js'
import { useAnswer } from '../lib/load.js'
import { go, linkTo, route } from '../lib/router.js'
import { Channel, Proven } from '../parts/badges.js'
import { saveFile } from '../parts/copy.js'
import { Confirm } from '../parts/dialog.js'
import { Empty, Problem } from '../parts/empty.js'
import { attempt } from '../parts/toast.js'

/** Who writes to the agents. */
export function People() {
  const { subject } = route.value
  return subject === '' ? html`<${Everybody} />` : html`<${Person} key=${subject} address=${subject} />`
}

/** @param {string} address what somebody typed @returns {string} */
const asAddress = address => (/^(@|web:)/.test(address) ? address : `@${address}`)

function Everybody() {
  const { answer, error, refresh } = useAnswer('/operator/api/messages?limit=500', ['message'])
  const linked = useAnswer('/operator/api/people')
  const typed = useSignal('')
  const messages = rowsOf(answer, 'messages') ?? []
  const people = [...Map.groupBy(messages, ({ sender }) => sender)]
  /** @param {Event} event */
  const submit = event => {
    event.preventDefault()
    if (typed.value.trim() !== '') go(linkTo('people', { subject: asAddress(typed.value.trim()) }))
  }
  return html`
    <header class="bar">
      <h1>People</h1>
      <form class="search" role="search" onSubmit=${submit}>
        <input id="search" type="text" aria-label="Address of a person" placeholder="@name@server.example" value=${typed.value} onInput=${(/** @type {any} */ event) => (typed.value = event.target.value)} />
        <button class="btn small" type="submit">Open</button>
      </form>
    </header>
    <div class="scroll">
      <div class="page">
        <${Problem} error=${error} retry=${refresh} />
        <${Links} links=${rowsOf(linked.answer, 'links') ?? []} />
        ${
          people.length > 0
            ? html`<section class="panel" aria-label="Lately">
                <header><h2>Lately</h2><span class="muted">Of the newest ${messages.length} messages</span></header>
                ${people.map(
                  ([
                    address,
                    list,
                  ]) => html`<a class="item" key=${address} href=${linkTo('people', { subject: address })}>
                    <${Channel} name=${list[0].via} />
                    <span class="who grow"><span>${oneLine(address)}</span><${Proven} verified=${list.some(each => each.verified)} /></span>
                    <span class="muted">${counted(list.length, 'message')}</span>
                    <span class="muted">${moment(list[0].received_at)}</span>
                  </a>`,
                )}
              </section>`
            : answer &&
              html`<${Empty} title="Nobody has written yet"><p>Each person has a page here with what they said on every channel.</p><//>`
        }
      </div>
    </div>
  `
}

/** @param {{ links: readonly any[] }} props */
function Links({ links }) {
  if (links.length === 0) return null
  return html`<section class="panel" aria-label="Linked addresses">
    <header><h2>Linked addresses</h2><span class="muted">One person, as they have proven themselves</span></header>
    ${links.map(
      ({ place, agent, asker, target, asked, confirmed, since }) => html`<div class="item" key=${place}>
        <span class="grow">${showAddress(asker)} = ${showAddress(target)} <span class="muted">with ${agent}</span></span>
        <span class="muted">
          by <a class="link" href=${linkTo('message', { subject: asked })}>#${asked}</a> and
          ${' '}<a class="link" href=${linkTo('message', { subject: confirmed })}>#${confirmed}</a>
        </span>
        <span class="muted">${moment(since)}</span>
      </div>`,
    )}
  </section>`
}

/** @param {any} address */
function showAddress(address) {
  return typeof address === 'string' ? address : (address?.address ?? JSON.stringify(address))
}

/** @param {{ address: string }} props */
function Person({ address }) {
  const path = withQuery('/operator/api/messages', { sender: address, limit: 200 })
  const { answer, error, refresh } = useAnswer(path, ['message', 'turn'])
  const linked = useAnswer('/operator/api/people')
  const isAsking = useSignal(false)
  const messages = (rowsOf(answer, 'messages') ?? []).filter(({ sender }) => sender === address)
  const links = (rowsOf(linked.answer, 'links') ?? []).filter(({ asker, target }) =>
    [asker, target].map(showAddress).some(each => each.includes(address.replace(/^@/, ''))),
  )
  const exportAll = () =>
    attempt(async () => {
      const records = []
      for (const { message } of messages) records.push(await api(`/operator/api/messages/${message}`))
      saveFile(
        `${address.replace(/[^\w.-]+/g, '_')}.json`,
        JSON.stringify({ address, links, records }, null, 2),
        'application/json',
      )
    })
  return html`
    <header class="bar">
      <a class="muted" href=${linkTo('people')}>People /</a><h1 class="cut">${address}</h1>
      <span class="grow"></span>
      <button class="btn" type="button" disabled=${messages.length === 0} onClick=${exportAll}>Export</button>
      <button class="btn danger" type="button" onClick=${() => (isAsking.value = true)}>Forget</button>
    </header>
    <div class="scroll">
      <div class="page">
        <${Problem} error=${error} retry=${refresh} />
        <${Links} links=${links} />
        ${messages.length > 0 ? html`<${Conversations} messages=${messages} />` : answer && html`<${Empty} title="They have not written"><p>Or what they wrote was forgotten.</p><//>`}
      </div>
    </div>
    ${
      isAsking.value &&
      html`<${Confirm}
        title=${`Forget ${address}?`}
        text="Deletes all messages, answers and links of this person, of every address that they have linked, with all agents. It cannot be undone."
        act="Forget"
        danger=${true}
        close=${() => (isAsking.value = false)}
        run=${() => attempt(() => forget(address, messages).then(refresh), 'Forgotten')}
      />`
    }
  `
}

/**
 * A mailbox is written without the sign at its front, an account with it.
 * @param {string} address @param {readonly any[]} messages
 */
async function forget(address, messages) {
  const spellings = new Set(messages.map(({ via }) => (via === 'email' ? address.replace(/^@/, '') : address)))
  if (spellings.size === 0) spellings.add(address)
  for (const each of spellings) await api('/operator/api/people/forget', { method: 'POST', body: { address: each } })
}

/** @param {{ messages: readonly any[] }} props */
function Conversations({ messages }) {
  return html`${[...Map.groupBy(messages, ({ agent, via }) => `${via} ${agent}`)].map(
    ([key, list]) => html`<section class="panel" key=${key} aria-label=${`With ${list[0].agent}`}>
      <header><${Channel} name=${list[0].via} /><h2>with ${list[0].agent}</h2><span class="muted">${counted(list.length, 'message')}</span></header>
      ${list.map(
        ({
          message,
          preview,
          state,
          received_at,
          verified,
        }) => html`<a class="item" key=${message} href=${linkTo('message', { subject: message })}>
          <span class="muted">${moment(received_at)}</span>
          <span class="grow">${oneLine(preview)}</span>
          <${Proven} verified=${verified} /><span class="muted">${state}</span>
        </a>`,
      )}
    </section>`,
  )}`
}
