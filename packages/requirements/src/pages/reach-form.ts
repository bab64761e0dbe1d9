import type { Policy, RememberedDecision, RememberScope } from '@postern/core'
import { readApproval } from '@postern/core'
import type { PageMarkup } from '@postern/http'
import { html } from 'hono/html'
import { showTime } from './show-time.ts'

const reachLabels = {
  conversation: 'in this conversation',
  always: 'from now on, wherever you write to this agent',
} as const

/** How far the answer is to count, be it yes or no, where it can be remembered. */
export function renderReach(
  policy: Policy,
  labels: Readonly<Record<RememberScope, string>> = reachLabels,
): PageMarkup | '' {
  const { kind, remember } = readApproval(policy) ?? {}
  if (!remember || remember.scopes.length === 0) return ''
  return html`<fieldset><legend>My answer counts</legend>
<label><input type="radio" name="remember" value="once" checked> this once</label>
${remember.scopes.map(
  scope =>
    html`<label><input type="radio" name="remember" value="${scope}"> ${labels[scope]}: <code>${kind}</code> is not asked for again for ${remember.days} days</label>`,
)}
</fieldset>`
}

const remembrances = { direct: 'runs without asking', forbidden: 'is not run, and not asked for,' } as const
const places = { conversation: 'in this conversation', always: 'wherever it is asked for' } as const

/** What counts still, and the end of it. */
export function renderRemembered({ tool, policy, scope, expires_at }: RememberedDecision): PageMarkup {
  return html`<form method="post">
<p><code>${tool}</code> ${remembrances[policy]} ${places[scope]}, until ${showTime(Date.parse(expires_at))}.</p>
<button name="decision" value="ask_again">Ask again from now on</button>
</form>`
}
