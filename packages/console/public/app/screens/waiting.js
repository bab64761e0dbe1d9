// Lists the decisions that wait for a person: calls to approve, questions and follow requests.
import { useEffect } from '../../vendor/hooks.js'
import { useSignal } from '../../vendor/signals.js'
import { api } from '../lib/api.js'
import { now } from '../lib/clock.js'
import { formatInstant, formatLongDuration } from '../lib/format.js'
import { html } from '../lib/html.js'
import { readRelations, readRows } from '../lib/list.js'
import { useAnswer, useLoaded } from '../lib/load.js'
import { linkTo } from '../lib/router.js'
import { Badge, Channel } from '../parts/badges.js'
import { Empty, Problem } from '../parts/empty.js'
import { Choice, TextArea } from '../parts/form.js'
import { attempt } from '../parts/toast.js'
import { FollowRequests } from './waiting-follows.js'

const topics = ['requirement', 'turn', 'message']
/** The time between two loads, ms, because no event reports an agent's question to a human. */
const lookMs = 5_000

/** @param {AbortSignal} signal */
const readPending = signal => readRelations('/operator/api/relations', { relation: 'pending' }, signal)

/** Shows the decisions that wait for a person: calls to approve, questions and follow requests. */
export function Waiting() {
  const required = useAnswer('/operator/api/requirements?state=open&limit=200', topics)
  const asked = useAnswer('/operator/api/questions', topics)
  useEffect(() => {
    const timer = setInterval(asked.refresh, lookMs)
    return () => clearInterval(timer)
  }, [])
  const requirements = readRows(required.answer, 'requirements')
  const questions = readRows(asked.answer, 'questions')?.filter(({ answer }) => answer === undefined)
  const own = requirements?.filter(({ approver }) => approver === 'operator')
  const others = requirements?.filter(({ approver }) => approver !== 'operator')
  const following = useLoaded(readPending, 'pending', ['message'], 500)
  const follows = following.answer
  const isEmpty = [own, questions, others, follows].every(list => list?.length === 0)
  return html`
    <header class="bar"><h1>Waiting</h1><span class="muted">What agents may not do or know by themselves</span></header>
    <div class="scroll">
      <div class="page">
        <${Problem} error=${required.error ?? asked.error} retry=${required.refresh} />
        ${own?.map(each => html`<${Approval} key=${each.id} id=${each.id} done=${required.refresh} />`)}
        ${questions?.map(each => html`<${Question} key=${each.id} question=${each} done=${asked.refresh} />`)}
        <${FollowRequests} requests=${follows} done=${following.refresh} />
        ${others && others.length > 0 && html`<${Others} requirements=${others} />`}
        ${
          isEmpty &&
          html`<${Empty} title="Nothing waits for you">
            <p>A tool with <code>"approve": "operator"</code> asks here before it runs. So does an agent that asks a human.</p>
          <//>`
        }
      </div>
    </div>
  `
}

/** @param {{ until: string }} props */
function Countdown({ until }) {
  const left = Date.parse(until) - now.value
  return html`<span class=${left < 300_000 ? 'warn' : 'muted'} title=${until}>${left > 0 ? `${formatLongDuration(left)} left` : 'over'}</span>`
}

/** @param {{ id: string, done: () => void }} props */
function Approval({ id, done }) {
  const { answer: requirement, error } = useAnswer(`/operator/api/requirements/${id}`)
  const edited = useSignal(/** @type {string | undefined} */ (undefined))
  const remember = useSignal('')
  if (error) return html`<${Problem} error=${error} />`
  if (!requirement) return null
  const { agent, address, via, message, policy, call, expires_at } = requirement
  const reaches = /** @type {readonly string[]} */ (policy.data?.remember?.scopes ?? policy.remember?.scopes ?? [])
  const original = JSON.stringify(call?.arguments ?? {}, null, 2)
  const text = edited.value ?? original
  const changed = text !== original
  const args = readJson(text)
  /** @param {'granted' | 'declined'} outcome */
  const decide = outcome =>
    attempt(
      async () => {
        const isEdited = outcome === 'granted' && changed
        const body = {
          outcome,
          ...(isEdited && { arguments: args.value }),
          ...(remember.value !== '' && !isEdited && { remember: remember.value }),
        }
        await api(`/operator/api/requirements/${id}`, { method: 'POST', body })
        done()
      },
      outcome === 'granted' ? 'Allowed' : 'Declined',
    )
  return html`<section class="panel" aria-label=${`${agent} asks`}>
    <header>
      <h2>${call ? `${call.agent ?? agent} wants to call ${call.tool}` : (policy.title ?? 'A decision')}</h2>
      <${Channel} name=${via} />
      <span class="muted cut grow">for ${address}</span>
      <a class="link" href=${linkTo('message', { subject: message })}>#${message}</a>
      <${Countdown} until=${expires_at} />
    </header>
    <div class="body stack">
      <p>${call?.summary ?? policy.message}</p>
      ${
        call &&
        html`<${TextArea} label="Arguments, which you may change" mono=${true} rows=${Math.min(12, text.split('\n').length + 1)} value=${text} change=${(/** @type {string} */ value) => (edited.value = value)} />`
      }
      ${args.problem && html`<div class="problem" role="alert">${args.problem}</div>`}
    </div>
    <footer>
      <button class="btn primary" type="button" disabled=${args.problem !== undefined} onClick=${() => decide('granted')}>
        ${changed ? 'Allow with these arguments' : 'Allow'}
      </button>
      <button class="btn danger" type="button" onClick=${() => decide('declined')}>Decline</button>
      ${
        reaches.length > 0 &&
        !changed &&
        html`<${Choice}
          label="Counts"
          value=${remember.value}
          options=${[{ value: '', text: 'this once' }, ...reaches.map(each => ({ value: each, text: each }))]}
          change=${(/** @type {string} */ value) => (remember.value = value)}
        />`
      }
    </footer>
  </section>`
}

/** @param {string} text */
function readJson(text) {
  try {
    return { value: JSON.parse(text), problem: undefined }
  } catch (error) {
    return { value: undefined, problem: `These arguments are no JSON: ${error instanceof Error ? error.message : ''}` }
  }
}

/** @param {{ question: any, done: () => void }} props */
function Question({ question, done }) {
  const text = useSignal('')
  const { id, member, from, asked_at, agent } = question
  /** @param {Event} event */
  const submit = event => {
    event.preventDefault()
    void attempt(async () => {
      await api(`/operator/api/questions/${id}`, { method: 'POST', body: { text: text.value } })
      done()
    }, 'Answered')
  }
  return html`<form class="panel" onSubmit=${submit} aria-label=${`${from} asks ${member}`}>
    <header><h2>${from} asks ${member}</h2><span class="muted grow">${agent}</span><span class="muted">${formatInstant(asked_at)}</span></header>
    <div class="body stack">
      <p>${question.text}</p>
      <${TextArea} label="Your answer" value=${text.value} change=${(/** @type {string} */ value) => (text.value = value)} />
    </div>
    <footer><button class="btn primary" type="submit" disabled=${text.value.trim() === ''}>Answer</button></footer>
  </form>`
}

/** Shows requirements without buttons, because their senders decide them. @param {{ requirements: readonly any[] }} props */
function Others({ requirements }) {
  return html`<section class="panel" aria-label="Waits for senders">
    <header><h2>Waits for senders</h2><span class="muted">They have a link to decide; nothing for you to do</span></header>
    ${requirements.map(
      ({ id, agent, address, kind, message, expires_at, via }) => html`<div class="item" key=${id}>
        <${Channel} name=${via} />
        <span class="grow">${agent} asked ${address} for <${Badge} kind="wait">${kind.replaceAll('_', ' ')}<//></span>
        <a class="link" href=${linkTo('message', { subject: message })}>#${message}</a>
        <${Countdown} until=${expires_at} />
      </div>`,
    )}
  </section>`
}
