// Shows a message as it arrived, as the agent saw it, and the answer.
import { html } from '../../lib/html.js'
import { Badge } from '../../parts/badges.js'
import { Code, Json } from '../../parts/json.js'
import { Tabs } from '../../parts/tabs.js'
import { Previews } from './previews.js'

/** Shows a message as it arrived and as the agent saw it, and the answer as each channel shows it. @param {{ record: any }} props */
export function Panes({ record }) {
  const { message, response, proofs, turn } = record
  const { raw, ...normalized } = message
  const { history, ...alone } = normalized
  const tabs = [
    { name: 'what the agent saw', view: () => html`<${Json} value=${normalized} label="what the agent saw" />` },
    { name: typeof raw === 'string' ? 'raw .eml' : 'raw', view: () => html`<${Raw} raw=${raw} />` },
    { name: 'message', view: () => html`<${Json} value=${alone} label="normalized message" />` },
    { name: 'proofs', view: () => html`<${Proofs} proofs=${proofs} />` },
    { name: 'attempts', view: () => html`<${Attempts} turn=${turn} />` },
    {
      name: 'response',
      view: () =>
        response
          ? html`<${Json} value=${response} label="response" />`
          : html`<p class="muted">The agent has not answered.</p>`,
    },
  ]
  return html`<section class="panes" aria-label="Message and answer">
    <div class="pane"><${Tabs} label="The message" tabs=${tabs} /></div>
    <div class="pane"><${Previews} record=${record} /></div>
  </section>`
}

/** @param {{ raw: unknown }} props */
function Raw({ raw }) {
  if (raw === undefined || raw === null) return html`<p class="muted">Its bytes are not kept any more.</p>`
  return typeof raw === 'string'
    ? html`<${Code} text=${raw} label="raw mail" />`
    : html`<${Json} value=${raw} label="raw document" />`
}

/** @param {{ proofs: readonly any[] }} props */
function Proofs({ proofs }) {
  if (proofs.length === 0) return html`<p class="muted">The transport gave no proof.</p>`
  return html`<div class="stack">
    ${proofs.map(({ kind, verdict, ...details }, at) => {
      const tone = verdict === 'pass' ? 'good' : verdict === 'fail' ? 'bad' : 'warn'
      return html`<div key=${at} class="card">
        <dl class="facts">
          <dt>${kind}</dt><dd><${Badge} kind=${tone}>${verdict}<//></dd>
          ${Object.entries(details).map(([name, value]) => html`<dt>${name.replaceAll('_', ' ')}</dt><dd>${Array.isArray(value) ? value.join(' ') : String(value)}</dd>`)}
        </dl>
      </div>`
    })}
  </div>`
}

/** @param {{ turn: any }} props */
function Attempts({ turn }) {
  if (!turn?.attempts?.length) return html`<p class="muted">The agent was not called for this message.</p>`
  return html`<div class="stack">
    ${turn.attempts.map(
      (/** @type {any} */ attempt) => html`<div key=${attempt.attempt} class="stack">
      <${Json} value=${{ ...attempt, error: attempt.error && { ...attempt.error, stack: undefined } }} label="attempt" />
      ${attempt.error?.stack && html`<${Code} text=${attempt.error.stack} label="stack" />`}
    </div>`,
    )}
  </div>`
}
