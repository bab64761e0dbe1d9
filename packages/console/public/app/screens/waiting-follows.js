// Lists follow requests that an operator accepts or rejects.
import { api } from '../lib/api.js'
import { html } from '../lib/html.js'
import { Channel } from '../parts/badges.js'
import { attempt } from '../parts/toast.js'

/**
 * Shows requests to follow agents that accept followers only with an operator's approval.
 * @param {{ requests?: readonly any[] | undefined, done: () => void }} props
 */
export function FollowRequests({ requests = [], done }) {
  if (requests.length === 0) return null
  /** @param {any} request @param {'accept' | 'reject'} verdict */
  const decide = ({ agent, peer }, verdict) =>
    attempt(
      async () => {
        await api(`/operator/api/follow-requests/${verdict}`, { method: 'POST', body: { agent, peer } })
        done()
      },
      verdict === 'accept' ? 'Accepted' : 'Rejected',
    )
  return html`<section class="panel" aria-label="Follow requests">
    <header><h2>Follow requests</h2></header>
    ${requests.map(
      request => html`<div class="item" key=${request.number}>
        <${Channel} name=${request.via} />
        <span class="grow">${request.target?.address ?? request.peer} <span class="muted">asks to follow ${request.agent}</span></span>
        <button class="btn small" type="button" onClick=${() => decide(request, 'accept')}>Accept</button>
        <button class="btn small danger" type="button" onClick=${() => decide(request, 'reject')}>Reject</button>
      </div>`,
    )}
  </section>`
}
