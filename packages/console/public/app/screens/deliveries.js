import { useSignal } from '../../vendor/signals.js'
import { api } from '../lib/api.js'
import { now } from '../lib/clock.js'
import { counted, longSpan } from '../lib/format.js'
import { html } from '../lib/html.js'
import { rowsOf } from '../lib/list.js'
import { useAnswer } from '../lib/load.js'
import { linkTo } from '../lib/router.js'
import { Badge, Channel } from '../parts/badges.js'
import { Confirm } from '../parts/dialog.js'
import { Empty, Problem } from '../parts/empty.js'
import { attempt } from '../parts/toast.js'
import { Suppressions } from './deliveries-suppressions.js'

const topics = ['delivery']
const most = 500

/** What is on its way, by the host it goes to; what was given up. */
export function Deliveries() {
  const later = useAnswer(`/operator/api/deliveries?state=later&limit=${most}`, topics)
  const queued = useAnswer(`/operator/api/deliveries?state=queued&limit=${most}`, topics)
  const dead = useAnswer(`/operator/api/deliveries?state=dead&limit=${most}`, topics)
  const waiting = [...(rowsOf(later.answer, 'deliveries') ?? []), ...(rowsOf(queued.answer, 'deliveries') ?? [])]
  const given = rowsOf(dead.answer, 'deliveries') ?? []
  const isLoaded = later.answer && queued.answer && dead.answer
  const refresh = () => {
    later.refresh()
    queued.refresh()
    dead.refresh()
  }
  return html`
    <header class="bar">
      <h1>Deliveries</h1>
      <span class="muted">${isLoaded && `${counted(waiting.length, 'delivery', 'deliveries')} waiting, ${given.length} dead`}</span>
    </header>
    <div class="scroll">
      <div class="page">
        <${Problem} error=${later.error ?? dead.error} retry=${refresh} />
        ${given.length > 0 && html`<${DeadLetters} deliveries=${given} refresh=${refresh} />`}
        ${waiting.length > 0 && html`<${Hosts} deliveries=${waiting} refresh=${refresh} />`}
        ${
          isLoaded &&
          waiting.length + given.length === 0 &&
          html`<${Empty} title="Everything is delivered">
            <p>What a host refuses or cannot take now waits here, with its next attempt. What was given up can be tried again.</p>
          <//>`
        }
        <${Suppressions} />
      </div>
    </div>
  `
}

/** @param {string} to */
function hostOf(to) {
  if (URL.canParse(to) && new URL(to).host !== '') return new URL(to).host
  return to.includes('@') ? to.slice(to.lastIndexOf('@') + 1) : to.split(':')[0]
}

/** @param {{ deliveries: readonly any[], refresh: () => void }} props */
function Hosts({ deliveries, refresh }) {
  const groups = [...Map.groupBy(deliveries, ({ to }) => hostOf(to))].sort(
    (one, other) => other[1].length - one[1].length,
  )
  return html`${groups.map(([host, list]) => {
    const failing = list.filter(({ state }) => state === 'later')
    const next = failing.map(({ next_attempt_at }) => Date.parse(next_attempt_at)).filter(at => !Number.isNaN(at))
    return html`<section class="panel" key=${host} aria-label=${host}>
      <header>
        <h2>${host}</h2>
        ${failing.length > 0 ? html`<${Badge} kind="warn">failing<//>` : html`<${Badge} kind="good">flowing<//>`}
        <span class="muted grow">
          ${counted(list.length, 'delivery', 'deliveries')}${next.length > 0 ? ` · next attempt ${sayNext(Math.min(...next))}` : ''}
        </span>
        ${failing.length > 0 && html`<button class="btn small" type="button" onClick=${() => changeAll(failing, 'retry', refresh)}>Try all now</button>`}
      </header>
      ${list.slice(0, 50).map(each => html`<${Row} key=${each.id} delivery=${each} refresh=${refresh} />`)}
      ${list.length > 50 && html`<div class="item muted">and ${list.length - 50} more</div>`}
    </section>`
  })}`
}

/** @param {number} at */
function sayNext(at) {
  const left = at - now.value
  return left > 0 ? `in ${longSpan(left)}` : 'now'
}

/** @param {readonly any[]} deliveries @param {'retry' | 'drop' | 'dismiss'} action @param {() => void} refresh */
function changeAll(deliveries, action, refresh) {
  const done = { retry: 'tried again', drop: 'given up', dismiss: 'dismissed' }[action]
  return attempt(
    async () => {
      for (const { id } of deliveries) await api(`/operator/api/deliveries/${id}/${action}`, { method: 'POST' })
      refresh()
    },
    `${counted(deliveries.length, 'delivery is', 'deliveries are')} ${done}`,
  )
}

/** @param {{ delivery: any, refresh: () => void, isChosen?: boolean, choose?: () => void }} props */
function Row({ delivery, refresh, isChosen, choose }) {
  const { id, via, to, attempts, last_error, next_attempt_at, message_id, state } = delivery
  return html`<div class="item">
    ${choose && html`<input type="checkbox" checked=${isChosen} onChange=${choose} aria-label=${`Choose the delivery to ${to}`} />`}
    <${Channel} name=${via} />
    <div class="grow">
      <div>${to}</div>
      <div class=${state === 'dead' ? 'bad' : 'muted'}>${last_error ?? state}</div>
      <div class="faint">
        ${counted(attempts, 'attempt')}${next_attempt_at && state === 'later' ? ` · next ${sayNext(Date.parse(next_attempt_at))}` : ''}
        ${' · '}<a class="link" href=${linkTo('message', { subject: message_id })}>message</a>
      </div>
    </div>
    <button class="btn small" type="button" onClick=${() => changeAll([delivery], 'retry', refresh)}>Try now<span class="hidden"> delivery ${id}</span></button>
  </div>`
}

/** @param {{ deliveries: readonly any[], refresh: () => void }} props */
function DeadLetters({ deliveries, refresh }) {
  const chosen = useSignal(/** @type {ReadonlySet<string>} */ (new Set()))
  const isAsking = useSignal(false)
  const isAll = deliveries.every(({ id }) => chosen.value.has(id))
  const picked = deliveries.filter(({ id }) => chosen.value.has(id))
  /** @param {string} id */
  const toggle = id => {
    const next = new Set(chosen.value)
    if (!next.delete(id)) next.add(id)
    chosen.value = next
  }
  /** @param {'retry' | 'dismiss'} action */
  const change = async action => {
    await changeAll(picked, action, refresh)
    chosen.value = new Set()
  }
  return html`<section class="panel" aria-label="Dead letters">
    <header>
      <label class="choice">
        <input type="checkbox" checked=${isAll} onChange=${() => (chosen.value = new Set(isAll ? [] : deliveries.map(({ id }) => id)))} />
        <h2>Dead letters</h2>
      </label>
      <span class="muted grow">Given up for good, or after too long</span>
      <button class="btn small" type="button" disabled=${picked.length === 0} onClick=${() => change('retry')}>Retry ${picked.length || ''}</button>
      <button class="btn small danger" type="button" disabled=${picked.length === 0} onClick=${() => (isAsking.value = true)}>Dismiss ${picked.length || ''}</button>
    </header>
    ${deliveries.map(each => html`<${Row} key=${each.id} delivery=${each} refresh=${refresh} isChosen=${chosen.value.has(each.id)} choose=${() => toggle(each.id)} />`)}
    ${
      isAsking.value &&
      html`<${Confirm}
        title=${`Dismiss ${counted(picked.length, 'dead letter')}?`}
        text="They stay on record and leave the count. Nobody is told."
        act="Dismiss"
        danger=${true}
        close=${() => (isAsking.value = false)}
        run=${() => change('dismiss')}
      />`
    }
  </section>`
}
