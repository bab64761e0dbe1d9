// Lists the people who write to the agents.
import { useSignal } from '../../vendor/signals.js'
import { formatCount, formatInstant, shortenToLine } from '../lib/format.js'
import { html } from '../lib/html.js'
import { readRows } from '../lib/list.js'
import { useAnswer } from '../lib/load.js'
import { linkTo, navigateTo, route } from '../lib/router.js'
import { Channel, Proven } from '../parts/badges.js'
import { Empty, Problem } from '../parts/empty.js'
import { Links } from './people/links.js'
import { Person } from './people/person.js'

/** Shows one person, or everybody who writes to the agents. */
export function People() {
  const { subject } = route.value
  return subject === '' ? html`<${Everybody} />` : html`<${Person} key=${subject} address=${subject} />`
}

/** @param {string} address what somebody typed @returns {string} */
const asAddress = address => (/^(@|web:)/.test(address) ? address : `@${address}`)

function Everybody() {
  const { answer, error, refresh } = useAnswer('/operator/api/messages?limit=500', ['message'], 500)
  const linked = useAnswer('/operator/api/people?limit=500')
  const typed = useSignal('')
  const messages = readRows(answer, 'messages') ?? []
  const people = [...Map.groupBy(messages, ({ sender }) => sender)]
  /** @param {Event} event */
  const submit = event => {
    event.preventDefault()
    if (typed.value.trim() !== '') navigateTo(linkTo('people', { subject: asAddress(typed.value.trim()) }))
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
        <${Links} links=${readRows(linked.answer, 'links') ?? []} />
        ${
          people.length > 0
            ? html`<section class="panel" aria-label="Lately">
                <header><h2>Lately</h2><span class="muted">Of the newest ${formatCount(messages.length, 'message')}</span></header>
                ${people.map(
                  ([
                    address,
                    list,
                  ]) => html`<a class="item person" key=${address} href=${linkTo('people', { subject: address })}>
                    <${Channel} name=${list[0].via} />
                    <span class="who grow"><span>${shortenToLine(address)}</span><${Proven} verified=${list.some(each => each.verified)} /></span>
                    <span class="muted amount">${formatCount(list.length, 'message')}</span>
                    <span class="muted when">${formatInstant(list[0].received_at)}</span>
                  </a>`,
                )}
              </section>`
            : answer &&
              html`<${Empty} title="Nobody has written yet">
                <p>Each person has a page here with what they said on every channel, for export and to be forgotten.</p>
                <a class="btn" href=${linkTo('agents')}>See where your agents can be written to</a>
              <//>`
        }
      </div>
    </div>
  `
}
