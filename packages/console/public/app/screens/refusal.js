// Shows a request that the gateway refused, and why.
import { withQuery } from '../lib/api.js'
import { formatPreciseClock } from '../lib/format.js'
import { html } from '../lib/html.js'
import { useKeys } from '../lib/keys.js'
import { readRows } from '../lib/list.js'
import { useAnswer } from '../lib/load.js'
import { linkTo, navigateTo } from '../lib/router.js'
import { Badge, Channel } from '../parts/badges.js'
import { Empty, Loading, Problem } from '../parts/empty.js'
import { Why } from './message/why.js'

/** Shows a message that was refused or could not be accepted. The gateway has read nothing else of it. @param {{ id: string }} props */
export function Refusal({ id }) {
  // The list returns refusals with smaller numbers than `after`, so `after: id + 1` begins with this refusal.
  const { answer, error } = useAnswer(withQuery('/operator/api/refusals', { limit: 1, after: Number(id) + 1 }))
  const refusal = readRows(answer, 'refusals')?.find(({ number }) => String(number) === id)
  useKeys({ u: () => navigateTo(linkTo('flow')) })
  return html`
    <header class="bar">
      <a class="muted" href=${linkTo('flow')}>Flow /</a>
      <h1>Refused</h1>
      ${refusal && html`<${Channel} name=${refusal.via} /><${Badge} kind="bad">${refusal.code}<//><span class="grow"></span><span class="muted">${formatPreciseClock(refusal.at)}</span>`}
    </header>
    <div class="scroll">
      ${renderState({ refusal, error, answer })}
    </div>
  `
}

/** Renders the refusal, or the state of the request for it. @param {{ refusal: any, error: any, answer: any }} state */
function renderState({ refusal, error, answer }) {
  if (refusal) return html`<${RefusalDetails} refusal=${refusal} />`
  if (error) return html`<div class="page"><${Problem} error=${error} /></div>`
  if (!answer) return html`<${Loading} />`
  return html`<${Empty} title="This refusal has been deleted"><p>Only the newest refusals are kept.</p><//>`
}

/** @param {{ refusal: any }} props */
function RefusalDetails({ refusal }) {
  const { number, at, via, from, code, reason, endpoint, status, claimed_sender, agent, peer_id } = refusal
  const { answer } = useAnswer(`/operator/api/why/r${number}`)
  const why = answer?.explanations?.[0]
  const facts = [
    ['at', at],
    ['channel', via],
    ['came in at', endpoint],
    ['from', from],
    ['says it is from', claimed_sender],
    ['for', agent],
    ["peer's id", peer_id],
    ['answered with', status],
    ['code', code],
    ['reason', reason],
  ]
  return html`
    <${Why} record=${{ state: 'refused', flags: [], deliveries: [], error: reason }} why=${why ?? { sentence: reason.replace(/\.$/, '') }}>
      ${claimed_sender && html`<a class="btn" href=${linkTo('look-up', { subject: claimed_sender })}>Look up who it claims to be</a>`}
      <a class="btn" href=${linkTo('flow', { query: { code } })}>All with this code</a>
    <//>
    <div class="page">
      <section class="panel" aria-label="Facts">
        <div class="body">
          <dl class="facts">
            ${facts.filter(([, value]) => value !== undefined && value !== '').map(([name, value]) => html`<dt>${name}</dt><dd>${String(value)}</dd>`)}
          </dl>
        </div>
      </section>
      <p class="muted">The gateway stores nothing else of a refused request.</p>
    </div>
  `
}
