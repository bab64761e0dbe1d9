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
  // The list holds refusals below a given number, so the page below the next number starts with this one.
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
      ${refusal ? html`<${Shown} refusal=${refusal} />` : error ? html`<div class="page"><${Problem} error=${error} /></div>` : answer ? html`<${Empty} title="It is not remembered any more"><p>Only the newest refusals are kept.</p><//>` : html`<${Loading} />`}
    </div>
  `
}

/** @param {{ refusal: any }} props */
function Shown({ refusal }) {
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
      <p class="muted">Nothing else of it was kept: what is refused is not stored.</p>
    </div>
  `
}
