// Shows the messages of one person, to export or delete them.
import { useEffect } from '../../../vendor/hooks.js'
import { useSignal } from '../../../vendor/signals.js'
import { api, withQuery } from '../../lib/api.js'
import { formatCount, formatInstant, shortenToLine } from '../../lib/format.js'
import { html } from '../../lib/html.js'
import { readAll } from '../../lib/list.js'
import { useAnswer } from '../../lib/load.js'
import { linkTo } from '../../lib/router.js'
import { Channel, Proven } from '../../parts/badges.js'
import { saveFile } from '../../parts/copy.js'
import { Confirm } from '../../parts/dialog.js'
import { Empty, Problem } from '../../parts/empty.js'
import { attempt, say } from '../../parts/toast.js'
import { addressesOf, Links, senderOf } from './links.js'

const pageSize = 200

/** Shows all messages of one person, on each channel. @param {{ address: string }} props */
export function Person({ address }) {
  const query = { sender: address, limit: pageSize }
  const { answer, error, refresh } = useAnswer(withQuery('/operator/api/messages', query), ['message', 'turn'], 500)
  const older = useSignal(/** @type {{ items: readonly any[], next: number | null } | undefined} */ (undefined))
  const links = useSignal(/** @type {readonly any[]} */ ([]))
  const isAsking = useSignal(false)
  const isExporting = useSignal(false)
  const isOwn = (/** @type {any} */ { sender }) => sender === address
  const newest = /** @type {readonly any[]} */ (answer?.items ?? []).filter(isOwn)
  const last = newest.at(-1)?.message ?? Number.POSITIVE_INFINITY
  const messages = [...newest, ...(older.value?.items ?? []).filter(({ message }) => message < last)]
  const next = older.value ? older.value.next : (answer?.next ?? null)
  useEffect(() => {
    readLinks(address).then(
      personLinks => (links.value = personLinks),
      () => undefined,
    )
  }, [address])
  const loadOlder = () =>
    attempt(async () => {
      const page = await api(withQuery('/operator/api/messages', { ...query, after: next ?? undefined }))
      older.value = { items: [...(older.value?.items ?? []), ...page.items.filter(isOwn)], next: page.next }
    })
  const exportAll = async () => {
    isExporting.value = true
    await attempt(async () => {
      const { name, text, count } = await writeExport(address)
      saveFile(name, text, 'application/json')
      say(`${formatCount(count, 'message')} exported`)
    })
    isExporting.value = false
  }
  const forgetAll = () =>
    attempt(async () => {
      try {
        const { deletedText, undeletedCount } = await forget(address, messages)
        if (undeletedCount > 0)
          say(
            `${formatCount(undeletedCount, 'file')} not deleted: in a storage that is not used any more. Deleted: ${deletedText || 'nothing'}`,
            'bad',
          )
        else if (deletedText === '') say(`Nothing is deleted: the gateway has nothing of ${address}`, 'bad')
        else say(`Forgotten: ${deletedText}`)
      } finally {
        older.value = undefined
        refresh()
      }
      links.value = await readLinks(address)
    })
  return html`
    <header class="bar">
      <a class="muted" href=${linkTo('people')}>People /</a><h1 class="cut">${address}</h1>
      <span class="grow"></span>
      <button class="btn" type="button" disabled=${messages.length === 0 || isExporting.value} onClick=${exportAll}>${isExporting.value ? 'Exporting …' : 'Export'}</button>
      <button class="btn danger" type="button" onClick=${() => (isAsking.value = true)}>Forget</button>
    </header>
    <div class="scroll">
      <div class="page">
        <${Problem} error=${error} retry=${refresh} />
        <${Links} links=${links.value} />
        ${messages.length > 0 ? html`<${Conversations} messages=${messages} />` : answer && html`<${Empty} title="They have not written"><p>Or what they wrote was forgotten.</p><//>`}
        ${next !== null && html`<button class="btn" type="button" onClick=${loadOlder}>Older messages</button>`}
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
        run=${forgetAll}
      />`
    }
  `
}

/** Reads the links of a person. @param {string} address */
async function readLinks(address) {
  const links = []
  for await (const link of readAll('/operator/api/people', {})) links.push(link)
  const ownAddresses = addressesOf(address, links)
  return links.filter(({ asker }) => ownAddresses.has(senderOf(asker)))
}

/** Exports the complete records of all addresses of a person. @param {string} address */
async function writeExport(address) {
  const links = await readLinks(address)
  const addresses = addressesOf(address, links)
  const records = []
  for (const each of addresses) {
    for await (const { message, sender } of readAll('/operator/api/messages', { sender: each })) {
      if (sender === each) records.push(await api(`/operator/api/messages/${encodeURIComponent(`#${message}`)}`))
    }
  }
  return {
    name: `${address.replace(/[^\w.-]+/g, '_')}.json`,
    text: JSON.stringify({ address, addresses: [...addresses], links, records }, null, 2),
    count: records.length,
  }
}

/**
 * Deletes the records of an address on every channel, because the address does not tell which channels it used. Closed channels come last,
 * because the gateway refuses them.
 * @param {string} address @param {readonly any[]} messages
 * @returns {Promise<{ deletedText: string, undeletedCount: number }>} `deletedText` lists the deleted records, or is empty. `undeletedCount` counts the files that could not be deleted.
 */
async function forget(address, messages) {
  if (address.startsWith('web:')) return sumUp([await post('owners', { owner: address })])
  const { channels } = await api('/operator/api/status')
  const answers = []
  for (const via of new Set([...channels, ...messages.map(message => message.via)]))
    answers.push(await post('people', { address, via }))
  return sumUp(answers)
}

/** @param {readonly any[]} answers */
function sumUp(answers) {
  return {
    deletedText: sayCounts(answers),
    undeletedCount: answers.flatMap(({ unreachable = [] }) => unreachable).length,
  }
}

/** @param {'people' | 'owners'} resource @param {object} body */
const post = (resource, body) => api(`/operator/api/${resource}/forget`, { method: 'POST', body })

/** @param {readonly any[]} answers with counts of the same things @returns {string} */
function sayCounts(answers) {
  const names = Object.keys(answers[0] ?? {}).filter(name => typeof answers[0][name] === 'number')
  const sums = names.map(name => ({ name, sum: answers.reduce((sum, answer) => sum + answer[name], 0) }))
  return sums
    .filter(({ sum }) => sum > 0)
    .map(({ name, sum }) => formatCount(sum, name.replace(/s$/, '')))
    .join(', ')
}

/** @param {{ messages: readonly any[] }} props */
function Conversations({ messages }) {
  return html`${[...Map.groupBy(messages, ({ agent, via }) => `${via} ${agent}`)].map(
    ([key, list]) => html`<section class="panel" key=${key} aria-label=${`With ${list[0].agent}`}>
      <header><${Channel} name=${list[0].via} /><h2>with ${list[0].agent}</h2><span class="muted">${formatCount(list.length, 'message')}</span></header>
      ${list.map(
        ({
          message,
          preview,
          state,
          received_at,
          verified,
        }) => html`<a class="item said" key=${message} href=${linkTo('message', { subject: message })}>
          <span class="muted when">${formatInstant(received_at)}</span>
          <span class="grow">${shortenToLine(preview)}</span>
          <${Proven} verified=${verified} /><span class="muted state">${state}</span>
        </a>`,
      )}
    </section>`,
  )}`
}
