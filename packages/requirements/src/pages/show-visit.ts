// Shows the page of a requirement in its present state, in the language of the visitor.

import type { PageMarkup } from '@postern/http'
import type { Policy } from '@postern/message'
import { translatePolicy, writeVisibleJson } from '@postern/message'
import type { OperatorApproval, OperatorApprovals, RequirementObjection, RequirementRecord } from '@postern/pipeline'
import { actionUrl, describeObjection } from '@postern/pipeline'
import type { Context } from 'hono'
import { html } from 'hono/html'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { DecisionDeps } from '../decisions/decide.ts'
import { mayGrant } from '../decisions/decide.ts'
import type { PageChoices, RequirementPageDeps } from './page.ts'
import {
  renderEndPage,
  renderPageFrame,
  renderProblemPage,
  renderRememberChoice,
  renderRequirementPage,
  requirementPageHeaders,
  showTime,
} from './page.ts'

export type RequirementVisitDeps = DecisionDeps & RequirementPageDeps & { readonly approvals: OperatorApprovals }

/** A visitor with a valid link, and the present state of the linked requirement. */
export interface Visit {
  readonly requirement: RequirementRecord
  readonly context: Context
  readonly deps: RequirementVisitDeps
}

const maxLocales = 10

/** Shows the page of a requirement: the choices, or the decision. `note` is the text of the page after the decision. */
export async function showRequirement(visit: Visit, note = 'The agent has been told.'): Promise<Response> {
  const { requirement, context, deps } = visit
  if (requirement.status !== 'open') return showEnd(visit, note, 200)
  const approval = await deps.approvals.find(requirement.id)
  const page = approval
    ? renderOperatorPage(approval, deps)
    : renderRequirementPage(requirement, {
        policy: translateForVisitor(context, requirement.policy),
        choices: findChoices(visit),
        deps,
      })
  return answerVisit(context, page, 200)
}

/** Shows the decision that counts, after a decision that arrived too late. */
export async function showRefusal(visit: Visit, reason: RequirementObjection): Promise<Response> {
  if (visit.requirement.status !== 'open') {
    return showEnd(visit, 'This was decided already; nothing has been changed now.', 409)
  }
  return answerVisit(visit.context, renderProblemPage(describeObjection(reason)), 409)
}

async function showEnd(
  { requirement, context, deps }: Visit,
  note: string,
  status: ContentfulStatusCode,
): Promise<Response> {
  const policy = translateForVisitor(context, requirement.policy)
  const rememberedDecision = await deps.store.findDecisionOfRequirement(requirement)
  const page = renderEndPage(requirement, { policy, note, rememberedDecision }, deps)
  return answerVisit(context, page, requirement.status === 'expired' ? 410 : status)
}

function findChoices({ requirement, context, deps }: Visit): PageChoices {
  const { agents, provider } = deps
  if (requirement.kind !== 'payment_required') return { canAgree: mayGrant('link', requirement), canTestPay: false }
  const returnUrl = `${actionUrl(agents, context.req.param('state') ?? '')}/receipt`
  const checkoutUrl = provider?.checkoutUrl?.(requirement, returnUrl)
  return { canAgree: false, checkoutUrl, canTestPay: provider?.payNow !== undefined }
}

/** Translates a policy by `Accept-Language`, if it has translations. */
function translateForVisitor(context: Context, policy: Policy): Policy {
  const preferences = (context.req.header('accept-language') ?? '').slice(0, 500).split(',', maxLocales)
  const locales = preferences.map(entry => entry.split(';')[0]?.trim() ?? '').filter(Boolean)
  return translatePolicy(policy, locales)
}

export async function answerVisit(context: Context, page: PageMarkup, status: ContentfulStatusCode): Promise<Response> {
  return context.body(String(await page), status, requirementPageHeaders)
}

/** Renders the page of an operator: the agent, the person and the whole call, which the operator may run with other arguments. */
function renderOperatorPage({ requirement, call }: OperatorApproval, { agents }: RequirementPageDeps): PageMarkup {
  const { agent, address, via, policy, expiresAt } = requirement
  return renderPageFrame(
    policy.title ?? 'Do you allow this?',
    html`<p><strong>${agents.find(agent)?.displayName ?? agent}</strong> (<code>@${agent}@${agents.domain}</code>), an automated agent, asks you as its operator. It is talking to <code>${address}</code> (${via}).</p>
<blockquote>${call?.summary ?? policy.message}</blockquote>
<form method="post">
${call ? renderCall(call) : ''}
${renderRememberChoice(policy, { conversation: 'in this conversation', always: `wherever ${address} writes to this agent` })}
<button class="yes" name="decision" value="grant">${policy.action_label ?? 'Allow it'}</button>
<button name="decision" value="decline">No</button>
</form>
<p><small>It can be decided once, until ${showTime(expiresAt)}.</small></p>`,
  )
}

/** The maximum length of the arguments in a form field, as browsers encode it. */
const maxFieldChars = 100_000

function renderCall({ tool, agent, args, schema }: NonNullable<OperatorApproval['call']>): PageMarkup {
  const text = writeVisibleJson(args, 2)
  return html`<p>Tool: <code>${tool}</code>${agent === undefined ? '' : html`, wanted by <code>${agent}</code>`}</p>
${
  schema && encodeURIComponent(text.toWellFormed()).length <= maxFieldChars
    ? html`<label for="arguments">Arguments (JSON; the tool runs with these)</label>
<textarea id="arguments" name="arguments" rows="${Math.min(20, text.split('\n').length + 1)}" spellcheck="false">${text}</textarea>`
    : html`<pre>${text}</pre>`
}`
}
