// Shows the agents, with their addresses, figures and a chat to try them.
import { useEffect, useRef } from '../../vendor/hooks.js'
import { useSignal } from '../../vendor/signals.js'
import '../../postern-chat.js'
import { api, withQuery } from '../lib/api.js'
import { formatDuration } from '../lib/format.js'
import { html } from '../lib/html.js'
import { readRows } from '../lib/list.js'
import { useAnswer } from '../lib/load.js'
import { linkTo, route } from '../lib/router.js'
import { Badge } from '../parts/badges.js'
import { Copy } from '../parts/copy.js'
import { Empty, Problem } from '../parts/empty.js'
import { typedIn } from '../parts/form.js'
import { Code } from '../parts/json.js'
import { QrCode } from '../parts/qr.js'
import { attempt } from '../parts/toast.js'

/** Shows each agent with its addresses, its figures, a chat to try it, and a snippet for a page. */
export function Agents() {
  const searchText = useSignal('')
  const after = useSignal(0)
  const page = useAnswer(
    withQuery('/operator/api/agents', { name: searchText.value.trim(), after: after.value || undefined }),
  )
  const agents = readRows(page.answer, 'agents')
  const { subject } = route.value
  const isListed = subject === '' || agents?.some(({ name }) => name === subject)
  // The address of the screen may name an agent of another page.
  const named = useAnswer(agents && !isListed ? withQuery('/operator/api/agents', { agent: subject }) : undefined)
  const namedAgent = readRows(named.answer, 'agents')?.[0]
  const isKnown = isListed || named.error !== undefined
  const selectedAgent =
    agents?.find(({ name }) => name === subject) ?? namedAgent ?? (isKnown ? agents?.[0] : undefined)
  const next = page.answer?.next ?? null
  const refresh = () => {
    page.refresh()
    named.refresh()
  }
  const { error } = page
  /** @param {Event} event */
  const search = event => {
    searchText.value = typedIn(event)
    after.value = 0
  }
  const isSearching = searchText.value.trim() !== ''
  return html`
    <header class="bar">
      <h1>Agents</h1>
      <input id="search" type="text" aria-label="Search agents by name" placeholder="name" value=${searchText.value} onInput=${search} />
    </header>
    <div class="side">
      <div class="stack">
        <${Problem} error=${error} retry=${refresh} />
        ${agents?.length === 0 && isSearching && html`<p class="muted">No agent has this in its name.</p>`}
        ${agents?.length === 0 && !isSearching && html`<${Empty} title="There is no agent"><p>Add one under <code>agents</code> in the configuration.</p><//>`}
        ${agents?.map(
          ({
            name,
            address,
            use,
            is_paused,
            is_default,
          }) => html`<a class=${`agent-link ${name === selectedAgent?.name ? 'chosen' : ''}`} key=${name} href=${linkTo('agents', { subject: name })} aria-current=${name === selectedAgent?.name ? 'true' : undefined}>
            <span class="line"><b>${name}</b>${is_default && html`<${Badge}>default<//>`}${is_paused && html`<${Badge} kind="warn">paused<//>`}</span>
            <span class="muted cut">${address}</span>
            <span class="faint cut">${use}</span>
          </a>`,
        )}
        ${after.value > 0 && html`<button class="btn small" type="button" onClick=${() => (after.value = 0)}>First page</button>`}
        ${next !== null && html`<button class="btn small" type="button" onClick=${() => (after.value = next)}>Next page</button>`}
      </div>
      ${selectedAgent && html`<${Agent} key=${selectedAgent.name} agent=${selectedAgent} refresh=${refresh} />`}
    </div>
  `
}

/** @param {{ agent: any, refresh: () => void }} props */
function Agent({ agent, refresh }) {
  const { name, address, page, card, is_paused, use, url, description } = agent
  const action = is_paused ? 'resume' : 'pause'
  const togglePause = () =>
    attempt(
      () => api(`/operator/api/agents/${name}/${action}`, { method: 'POST' }).then(refresh),
      is_paused ? `${name} goes on` : `Messages of ${name} wait now`,
    )
  const mail = address.replace(/^@/, '')
  return html`<div class="page">
    <section class="line">
      <div class="grow stack">
        <h2>${name}</h2>
        ${description && html`<p class="muted">${description}</p>`}
        <dl class="facts">
          <dt>fediverse</dt><dd>${address} <${Copy} text=${address} what="address" /></dd>
          <dt>email</dt><dd>${mail} <${Copy} text=${mail} what="mail address" /></dd>
          <dt>A2A</dt><dd><span class="mono">${card}</span> <${Copy} text=${card} what="card" /></dd>
          <dt>answers by</dt><dd>${use}${url ? ` at ${url}` : ''}</dd>
        </dl>
        <div class="line">
          <button class="btn" type="button" onClick=${togglePause}>${is_paused ? 'Resume' : 'Pause'}</button>
          <a class="btn" href=${linkTo('flow', { query: { agent: name } })}>Its messages</a>
          <a class="btn" href=${linkTo('look-up', { subject: address })}>How peers find it</a>
        </div>
      </div>
      <${QrCode} text=${page} label=${`QR code of the page of ${name}`} />
    </section>
    <${Figures} agent=${agent} />
    <section class="grid-2">
      <div class="stack"><h2>Try it</h2><${Chat} name=${name} /></div>
      <div class="stack"><h2>Put it on a page</h2><${Snippet} name=${name} page=${page} /></div>
    </section>
  </div>`
}

/** Shows figures of an agent's newest messages. @param {{ agent: any }} props */
function Figures({ agent }) {
  const { answer } = useAnswer(withQuery('/operator/api/messages', { agent: agent.name, limit: 500 }), ['turn'])
  const messages = (readRows(answer, 'messages') ?? []).filter(message => message.agent === agent.name)
  const numbers = messages.map(({ message }) => message)
  const outcomes = useAnswer(
    numbers.length > 0 ? withQuery('/operator/api/outcomes', { messages: numbers.join() }) : undefined,
  )
  const durationsMs = (readRows(outcomes.answer, 'outcomes') ?? [])
    .flatMap(({ took_ms }) => took_ms ?? [])
    .sort((a, b) => a - b)
  const percentile = (/** @type {number} */ share) => durationsMs[Math.ceil(durationsMs.length * share) - 1]
  const failedCount = messages.filter(({ state }) => state === 'failed').length
  const waitingCount = messages.filter(({ state }) => state === 'received' || state === 'working').length
  const tokens = agent.tokens.reduce((/** @type {number} */ sum, /** @type {any} */ usage) => sum + usage.tokens, 0)
  const figures = [
    ['messages', messages.length.toLocaleString('en')],
    ['p50', percentile(0.5) === undefined ? '–' : formatDuration(percentile(0.5))],
    ['p95', percentile(0.95) === undefined ? '–' : formatDuration(percentile(0.95))],
    ['failed', String(failedCount)],
    ['waiting', String(waitingCount)],
    ['tokens since start', tokens.toLocaleString('en')],
  ]
  return html`<dl class="figures-row" aria-label="Of the newest messages">
    ${figures.map(([label, value]) => html`<div><dt>${label}</dt><dd class=${label === 'failed' && failedCount > 0 ? 'bad' : ''}>${value}</dd></div>`)}
  </dl>`
}

/** @param {{ name: string }} props */
function Chat({ name }) {
  const frame = useRef(/** @type {HTMLDivElement | null} */ (null))
  const chatElement = useRef(/** @type {any} */ (null))
  useEffect(() => {
    const chat = /** @type {any} */ (document.createElement('postern-chat'))
    // With a session, the gateway accepts changes only from requests with this header.
    chat.headers = { 'x-postern-console': '1' }
    chat.setAttribute('endpoint', `/operator/chat/agents/${encodeURIComponent(name)}`)
    chat.setAttribute('label', `Write to ${name}`)
    frame.current?.replaceChildren(chat)
    chatElement.current = chat
  }, [name])
  return html`<div class="chat-frame" ref=${frame}></div>
    <div><button class="btn small" type="button" onClick=${() => chatElement.current?.startAnew()}>New conversation</button></div>`
}

/** @param {{ name: string, page: string }} props */
function Snippet({ name, page }) {
  const origin = new URL(page).origin
  const text = `<script type="module" src="${origin}/postern-chat.js"></script>
<postern-chat endpoint="${origin}/api/v1/agents/${name}"></postern-chat>
<script type="module">
  // Your server makes the token of the person who reads the page.
  document.querySelector('postern-chat').getToken =
    async () => (await fetch('/chat-token')).text()
</script>`
  return html`<div class="stack">
    <${Code} text=${text} label="Snippet" />
    <div><${Copy} text=${text} what="snippet" /></div>
    <p class="muted">Tokens come from an issuer in <code>web.auth</code>; the origin of the page stands in <code>web.origins</code>.</p>
  </div>`
}
