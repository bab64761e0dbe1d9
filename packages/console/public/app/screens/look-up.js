// Looks up an address like a peer, and shows the result.
import { useSignal } from '../../vendor/signals.js'
import { withQuery } from '../lib/api.js'
import { html } from '../lib/html.js'
import { useAnswer } from '../lib/load.js'
import { linkTo, replace, route } from '../lib/router.js'
import { Badge } from '../parts/badges.js'
import { Empty, Problem } from '../parts/empty.js'
import { Json } from '../parts/json.js'

/** Looks up any address and shows the result that a peer would get. @param {{ status: any }} props */
export function LookUp({ status }) {
  const { subject } = route.value
  const addressInput = useSignal(subject)
  const { answer, error } = useAnswer(
    subject === '' ? undefined : withQuery('/operator/api/resolve', { address: subject }),
  )
  /** @param {Event} event */
  const submit = event => {
    event.preventDefault()
    replace(linkTo('look-up', { subject: addressInput.value.trim() }))
  }
  return html`
    <header class="bar">
      <h1>Look up</h1>
      <form class="search" role="search" onSubmit=${submit}>
        <input id="search" type="text" aria-label="Address" placeholder="@name@domain.example" value=${addressInput.value} onInput=${(/** @type {any} */ event) => (addressInput.value = event.target.value)} />
        <button class="btn small" type="submit">Look up</button>
      </form>
    </header>
    <div class="scroll">
      <div class="page">
        <${Problem} error=${error} />
        ${
          subject === ''
            ? html`<${Empty} title="Any address">
                <p>WebFinger, actor, agent card and mail of an address, as a peer finds them, and what is wrong there. Yours too.</p>
                ${status && html`<p class="muted">For example one of yours on ${status.domain}.</p>`}
              <//>`
            : answer
              ? html`<${LookUpResult} answer=${answer} />`
              : !error && html`<p class="muted" role="status">Asking …</p>`
        }
      </div>
    </div>
  `
}

/** @param {{ answer: any }} props */
function LookUpResult({ answer }) {
  const rows = /** @type {readonly any[]} */ (answer.rows ?? answer.findings ?? [])
  return html`
    ${
      rows.length > 0 &&
      html`<section class="panel" aria-label="What was found">
        ${rows.map(
          (row, index) => html`<div class="item" key=${index}>
            <${Badge} kind=${{ ok: 'good', warning: 'warn', error: 'bad' }[String(row.severity ?? row.verdict)] ?? 'muted'}>${row.severity ?? row.verdict ?? row.kind}<//>
            <div class="grow"><div>${row.message ?? row.title ?? row.name}</div>${row.fix && html`<div class="muted">${row.fix}</div>`}</div>
          </div>`,
        )}
      </section>`
    }
    <${Json} value=${answer} label="Everything that was found" />
  `
}
