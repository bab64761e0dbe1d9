// Sends a test message as a simulated peer, honest or with one fault.
import { useSignal } from '../../vendor/signals.js'
import { api } from '../lib/api.js'
import { html } from '../lib/html.js'
import { readRows } from '../lib/list.js'
import { useAnswer } from '../lib/load.js'
import { linkTo } from '../lib/router.js'
import { Badge, nameChannel } from '../parts/badges.js'
import { Empty, Problem } from '../parts/empty.js'
import { Choice, Field, TextArea } from '../parts/form.js'
import { Message } from './message.js'

const channels = ['activitypub', 'a2a', 'email', 'web']

/** The time that the gateway waits for the answer, in seconds. The outcome then opens without it and shows it on arrival. */
const waitSeconds = 10

/** Sends a message as a peer of the simulation, honest or with one fault, and opens its outcome next to the form. @param {{ status: any }} props */
export function Compose({ status }) {
  const { answer: catalogue, error } = useAnswer('/operator/api/simulation')
  if (error || status?.dev === false)
    return html`<header class="bar"><h1>Compose</h1></header>
      <${Empty} title="There is no simulation beside this gateway">
        <p>Messages are composed in dev mode, where simulated servers have real keys: run <code>npx postern dev</code>.</p>
      <//>`
  return catalogue ? html`<${Composer} catalogue=${catalogue} />` : html`<header class="bar"><h1>Compose</h1></header>`
}

/** @param {{ catalogue: any }} props */
function Composer({ catalogue }) {
  // Beside very many agents, a field for the name replaces the choice.
  const { answer } = useAnswer('/operator/api/agents?limit=100')
  const hasMoreAgents = typeof answer?.next === 'number'
  const agents = readRows(answer, 'agents') ?? []
  const via = useSignal('activitypub')
  const to = useSignal('')
  const from = useSignal('')
  const visibility = useSignal('')
  const fault = useSignal('')
  const text = useSignal('When are you open on Sunday?')
  const sent = useSignal(/** @type {any} */ (undefined))
  const problem = useSignal(/** @type {Error | undefined} */ (undefined))
  const isSending = useSignal(false)
  const personas = listPersonas(catalogue, via.value)
  const faults = listFaults(catalogue, via.value)
  const visibilities = /** @type {readonly string[]} */ (catalogue.visibilities?.[via.value] ?? [])
  const agent = to.value || agents.find(({ is_default }) => is_default)?.name || agents[0]?.name || ''
  /** @param {string} value */
  const chooseChannel = value => {
    via.value = value
    from.value = ''
    visibility.value = ''
    fault.value = ''
  }
  const chooseAgent = (/** @type {string} */ value) => (to.value = value.trim())
  const send = async (/** @type {string} */ chosen) => {
    isSending.value = true
    problem.value = undefined
    const body = {
      via: via.value,
      to: agent,
      text: text.value,
      timeout_seconds: waitSeconds,
      ...(from.value && { from: from.value }),
      ...(visibility.value && { visibility: visibility.value }),
      ...(chosen && { fault: chosen }),
    }
    try {
      sent.value = {
        ...(await api('/operator/api/simulation/send', { method: 'POST', body })),
        fault: chosen,
        count: (sent.value?.count ?? 0) + 1,
      }
    } catch (error) {
      problem.value = error instanceof Error ? error : new Error(String(error))
    }
    isSending.value = false
  }
  /** @param {Event} event */
  const submit = event => {
    event.preventDefault()
    void send(fault.value)
  }
  return html`
    <header class="bar"><h1>Compose</h1><span class="muted cut">Signed by simulated servers with real keys, and verified for real</span></header>
    <div class="side">
      <form class="stack" onSubmit=${submit}>
        <${Choice} label="Channel" value=${via.value} change=${chooseChannel} options=${channels.map(value => ({ value, text: nameChannel(value) }))} />
        ${
          hasMoreAgents
            ? html`<${Field} label="To" value=${to.value} placeholder=${agent} change=${chooseAgent} />`
            : html`<${Choice} label="To" value=${agent} change=${chooseAgent} options=${agents.map(({ name, address }) => ({ value: name, text: address }))} />`
        }
        <${Choice} label="From" value=${from.value} change=${(/** @type {string} */ value) => (from.value = value)} options=${[{ value: '', text: 'anybody' }, ...personas]} />
        ${
          visibilities.length > 0 &&
          html`<${Choice} label="Visibility" value=${visibility.value} change=${(/** @type {string} */ value) => (visibility.value = value)} options=${[{ value: '', text: 'default' }, ...visibilities.map(value => ({ value, text: value }))]} />`
        }
        <${TextArea} label="Text" value=${text.value} change=${(/** @type {string} */ value) => (text.value = value)} rows=${5} />
        <button class="btn primary" type="submit" disabled=${isSending.value || agent === ''}>Send</button>
        <fieldset class="breaks">
          <legend>Break it</legend>
          <div class="line">
            ${faults.map(
              ({ value, text: words }) =>
                html`<button key=${value} class="btn small" type="button" title=${words} disabled=${isSending.value} onClick=${() => send(value)}>
                  ${value.replaceAll('_', ' ')}
                </button>`,
            )}
          </div>
        </fieldset>
      </form>
      <section aria-label="Result" aria-live="polite">
        ${problem.value && html`<div class="page"><${Problem} error=${problem.value} /></div>`}
        ${sent.value ? html`<${Result} key=${sent.value.count} sent=${sent.value} />` : html`<${Empty} title="The result opens here"><p>Send something honest, then break it: each fault has one thing wrong.</p><//>`}
      </section>
    </div>
  `
}

/** @param {any} catalogue @param {string} via */
function listPersonas(catalogue, via) {
  const listed = /** @type {readonly any[]} */ (catalogue.personas)
  return listed
    .filter(persona => persona.via === via)
    .map(({ from, what }) => ({ value: String(from), text: `${from}: ${what}` }))
}

/** @param {any} catalogue @param {string} via */
function listFaults(catalogue, via) {
  const listed = /** @type {readonly any[]} */ (catalogue.faults)
  return listed
    .filter(each => each.via.includes(via))
    .map(({ fault, what }) => ({ value: String(fault), text: String(what) }))
}

/** @param {{ sent: any }} props */
function Result({ sent }) {
  const { id, status, refusal, expected, fault } = sent
  const words = fault ? fault.replaceAll('_', ' ') : 'honest'
  if (status === 'refused')
    return html`<div class="page">
      <div class="line"><${Badge} kind="bad">refused<//><${Badge}>${words}<//><span class="muted">${refusal?.answer}</span></div>
      <p>${readRefusal(refusal?.text)}</p>
      ${expected && html`<p class="muted">Expected: ${expected.outcome}${expected.code ? `, ${expected.code}` : ''}</p>`}
      <a class="link" href=${linkTo('flow')}>It is in Flow, in grey</a>
    </div>`
  return html`<div class="inline-message"><${Message} key=${id} id=${id} /></div>`
}

/** @param {string | undefined} text */
function readRefusal(text = '') {
  try {
    const { detail, error } = JSON.parse(text)
    return detail ?? error?.message ?? text
  } catch {
    return text
  }
}
