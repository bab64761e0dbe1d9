import type { OperatorApproval } from '@postern/core'
import { writeVisibleJson } from '@postern/core'
import type { PageMarkup } from '@postern/http'
import { html } from 'hono/html'
import type { RequirementPageDeps } from './page.ts'
import { renderPageFrame } from './page.ts'
import { renderReach } from './reach-form.ts'
import { showTime } from './show-time.ts'

/** Who asked, which call it is, and with what: the operator sees all of it, and may have it run with other arguments. */
export function renderOperatorPage(
  { requirement, call }: OperatorApproval,
  { agents }: RequirementPageDeps,
): PageMarkup {
  const { agent, address, via, policy, expiresAt } = requirement
  return renderPageFrame(
    policy.title ?? 'Do you allow this?',
    html`<p><strong>${agents.find(agent)?.displayName ?? agent}</strong> (<code>@${agent}@${agents.domain}</code>), an automated agent, asks you as its operator. It is talking to <code>${address}</code> (${via}).</p>
<blockquote>${call?.summary ?? policy.message}</blockquote>
<form method="post">
${call ? renderCall(call) : ''}
${renderReach(policy, { conversation: 'in this conversation', always: `wherever ${address} writes to this agent` })}
<button class="yes" name="decision" value="grant">${policy.action_label ?? 'Allow it'}</button>
<button name="decision" value="decline">No</button>
</form>
<p><small>It can be decided once, until ${showTime(expiresAt)}.</small></p>`,
  )
}

/** What a form may have of arguments, as browsers write them. */
const maxField = 100_000

function renderCall({ tool, agent, args, schema }: NonNullable<OperatorApproval['call']>): PageMarkup {
  const text = writeVisibleJson(args, 2)
  return html`<p>Tool: <code>${tool}</code>${agent === undefined ? '' : html`, wanted by <code>${agent}</code>`}</p>
${
  schema && encodeURIComponent(text.toWellFormed()).length <= maxField
    ? html`<label for="arguments">Arguments (JSON; what stands here is what it runs with)</label>
<textarea id="arguments" name="arguments" rows="${Math.min(20, text.split('\n').length + 1)}" spellcheck="false">${text}</textarea>`
    : html`<pre>${text}</pre>`
}`
}
