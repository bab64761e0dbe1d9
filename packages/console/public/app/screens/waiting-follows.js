import { api, withQuery } from '../lib/api.js'
import { html } from '../lib/html.js'
import { rowsOf } from '../lib/list.js'
import { useAnswer } from '../lib/load.js'
import { attempt } from '../parts/toast.js'

/** Who asked to follow an agent that lets nobody follow without a yes. */
export function FollowRequests() {
  const { answer } = useAnswer('/operator/api/agents')
  const agents = rowsOf(answer, 'agents') ?? []
  return html`${agents.map(({ name }) => html`<${OfAgent} key=${name} agent=${name} />`)}`
}

/** @param {{ agent: string }} props */
function OfAgent({ agent }) {
  const path = withQuery('/operator/api/relations', { agent, relation: 'follow-request' })
  const { answer, refresh } = useAnswer(path, ['message'])
  const requests = rowsOf(answer, 'relations') ?? []
  if (requests.length === 0) return null
  /** @param {any} request @param {'accept' | 'reject'} verdict */
  const decide = (request, verdict) =>
    attempt(
      async () => {
        await api(`/operator/api/follow-requests/${verdict}`, { method: 'POST', body: { agent, peer: request.peer } })
        refresh()
      },
      verdict === 'accept' ? 'Accepted' : 'Rejected',
    )
  return html`<section class="panel" aria-label=${`Follow requests of ${agent}`}>
    <header><h2>Follow requests of ${agent}</h2></header>
    ${requests.map(
      request => html`<div class="item" key=${request.peer}>
        <span class="grow">${request.peer}</span>
        <button class="btn small" type="button" onClick=${() => decide(request, 'accept')}>Accept</button>
        <button class="btn small danger" type="button" onClick=${() => decide(request, 'reject')}>Reject</button>
      </div>`,
    )}
  </section>`
}
