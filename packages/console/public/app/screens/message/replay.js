// Replays a message through the current code without sending anything, and shows the differences.
import { useEffect } from '../../../vendor/hooks.js'
import { useSignal } from '../../../vendor/signals.js'
import { api } from '../../lib/api.js'
import { html } from '../../lib/html.js'
import { Badge } from '../../parts/badges.js'
import { Dialog } from '../../parts/dialog.js'
import { Problem } from '../../parts/empty.js'
import { Field } from '../../parts/form.js'
import { say } from '../../parts/toast.js'
import { wordsOf } from './markdown.js'

/** @type {Record<string, readonly [string, string]>} */
const outcomes = {
  same: ['good', 'nothing is different'],
  changed: ['warn', 'different'],
  refused: ['bad', 'refused today'],
  skipped: ['muted', 'cannot be replayed'],
}

/** @type {readonly (readonly [string, string])[]} */
const sections = [
  ['proofs', 'Proofs'],
  ['normalized', 'What the agent sees'],
  ['response', 'Answer'],
  ['wire', 'What would be sent'],
]

/**
 * Replays the message through the current code without sending anything, and shows the differences.
 * @param {{ record: any, close: () => void }} props
 */
export function Replay({ record, close }) {
  const report = useSignal(/** @type {any} */ (undefined))
  const error = useSignal(/** @type {Error | undefined} */ (undefined))
  const use = useSignal('')
  const isToday = useSignal(false)
  const isBusy = useSignal(false)
  const path = `/operator/api/messages/${record.number}/replay`
  /** The options of the report on the screen, because the fields may have changed since. */
  const ran = useSignal({})
  /** @param {() => Promise<void>} work */
  const busily = async work => {
    isBusy.value = true
    error.value = undefined
    try {
      await work()
    } catch (reason) {
      error.value = reason instanceof Error ? reason : new Error(String(reason))
    }
    isBusy.value = false
  }
  const run = () =>
    busily(async () => {
      const body = {
        clock: isToday.value ? 'now' : 'then',
        ...(use.value.trim() !== '' && { use: use.value.trim() }),
      }
      report.value = await api(path, { method: 'POST', body })
      ran.value = body
    })
  useEffect(() => void run(), [])
  const commit = () =>
    busily(async () => {
      const { queued, reason, outcome } = await api(path, { method: 'POST', body: { ...ran.value, commit: true } })
      if (queued === undefined || queued.kind === 'nothing')
        throw new Error(`Nothing is queued: ${queued?.reason ?? reason ?? outcomes[outcome]?.[1] ?? outcome}`)
      say('The new answer is queued')
      close()
    })
  /** @param {Event} event */
  const submit = event => {
    event.preventDefault()
    void run()
  }
  return html`<${Dialog} title="Replay" close=${close} large=${true}>
    <form onSubmit=${submit}>
      <h1>Replay of #${record.number}</h1>
      <p class="muted">The stored bytes go through today's code and agent. Nothing is sent.</p>
      <div class="line">
        <${Field} label="Another module instead of the agent" placeholder="./agents/new.ts" value=${use.value} change=${(/** @type {string} */ value) => (use.value = value)} />
        <label class="choice"><input type="checkbox" checked=${isToday.value} onChange=${() => (isToday.value = !isToday.value)} />with today's clock and keys</label>
      </div>
      <${Problem} error=${error.value} />
      <div aria-live="polite" class="stack">${report.value ? html`<${Report} report=${report.value} />` : isBusy.value && html`<p class="muted">The agent is asked again …</p>`}</div>
      <div class="ends">
        <button class="btn" type="button" onClick=${close}>Close</button>
        ${report.value?.response?.length > 0 && html`<button class="btn danger" type="button" disabled=${isBusy.value} onClick=${commit}>Send the new answer</button>`}
        <button class="btn primary" type="submit" disabled=${isBusy.value}>Replay again</button>
      </div>
    </form>
  <//>`
}

/** @param {{ report: any }} props */
function Report({ report }) {
  const [kind = 'muted', words = report.outcome] = outcomes[report.outcome] ?? []
  return html`
    <div class="line"><${Badge} kind=${kind}>${words}<//>${report.reason && html`<span>${report.reason}</span>`}${report.not_called && html`<span class="muted">${report.not_called}</span>`}</div>
    ${sections.map(([name, title]) => {
      const changes = report[name] ?? []
      if (changes.length === 0) return null
      return html`<section key=${name} aria-label=${title}>
        <h3>${title}</h3>
        <pre class="code" tabindex="0">
${changes.map(
  (/** @type {any} */ { path, before, after }) => html`<b>${path || title}</b>
${before !== undefined && html`<span class="was">− ${show(before)}</span>`}${after !== undefined && html`<span class="is">+ ${show(after)}</span>`}`,
)}</pre>
      </section>`
    })}
    ${report.answer && html`<section aria-label="New answer"><h3>New answer</h3><div class="bubble">${wordsOf(report.answer)}</div></section>`}
  `
}

/** @param {unknown} value */
function show(value) {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}
