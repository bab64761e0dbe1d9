// Lists the conditions that must hold before the gateway is open to strangers.
import { html } from '../lib/html.js'
import { readRows } from '../lib/list.js'
import { useAnswer } from '../lib/load.js'
import { Badge } from '../parts/badges.js'
import { Copy } from '../parts/copy.js'
import { Problem } from '../parts/empty.js'

/** @type {Record<string, readonly [string, string]>} */
const verdicts = {
  ok: ['good', 'ok'],
  warning: ['warn', 'look'],
  failure: ['bad', 'fix'],
  skipped: ['muted', 'skipped'],
}
/** The order of the verdicts, worst first. */
const order = ['failure', 'warning', 'ok', 'skipped']

/** Shows the checks of the set-up, which must all pass before strangers write to the gateway. */
export function GoLive() {
  const { answer, error, refresh } = useAnswer('/operator/api/doctor')
  const keys = useAnswer('/operator/api/keys')
  const findings = [...(readRows(answer, 'findings') ?? [])].sort(
    (one, other) => order.indexOf(one.verdict) - order.indexOf(other.verdict),
  )
  const good = findings.filter(({ verdict }) => verdict === 'ok').length
  const asked = findings.filter(({ verdict }) => verdict !== 'skipped').length
  const records = (readRows(keys.answer, 'keys') ?? []).filter(({ dns }) => dns)
  return html`
    <header class="bar">
      <h1>Go live</h1>
      ${answer && html`<span class="muted">${good} of ${asked} checks are green</span>`}
      <span class="grow"></span>
      <button class="btn" type="button" onClick=${refresh}>Check again</button>
    </header>
    <div class="scroll">
      <div class="page">
        <${Problem} error=${error} retry=${refresh} />
        ${!answer && !error && html`<p class="muted" role="status">The checks run; those from outside take some seconds …</p>`}
        ${
          answer &&
          html`<div class="progress" role="img" aria-label=${`${good} of ${asked} checks are green`}><i style=${{ width: `${(good / Math.max(1, asked)) * 100}%` }}></i></div>
            <section class="panel" aria-label="Checks">${findings.map((finding, at) => html`<${Row} key=${`${finding.id} ${at}`} finding=${finding} />`)}</section>`
        }
        <section class="panel" aria-label="DNS records">
          <header><h2>DNS records</h2><span class="muted">Publish these where your domain is</span></header>
          ${records.map(
            ({ dns, purpose }) => html`<div class="item" key=${`${dns.type} ${dns.name}`}>
              <div class="grow stack">
                <div><span class="mono">${dns.name}</span> <${Badge}>${dns.type}<//> <span class="muted">${purpose}</span></div>
                <code class="muted">${dns.value}</code>
              </div>
              <${Copy} text=${dns.name} what="name" label="Name" /><${Copy} text=${dns.value} what="value" label="Value" />
            </div>`,
          )}
          ${records.length === 0 && keys.answer && html`<div class="item muted">No channel needs a record. Mail does, once it is on.</div>`}
        </section>
      </div>
    </div>
  `
}

/** @param {{ finding: any }} props */
function Row({ finding }) {
  const { id, verdict, subject, message, fix } = finding
  const [kind = 'muted', words = verdict] = verdicts[verdict] ?? []
  return html`<div class="item">
    <${Badge} kind=${kind}>${words}<//>
    <div class="grow">
      <div>${subject && !message.includes(subject) && html`<b>${subject}</b> `}${message}</div>
      ${fix && html`<div class="muted">${fix}</div>`}
    </div>
    <code class="faint">${id}</code>
  </div>`
}
