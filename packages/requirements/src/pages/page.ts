// Renders the HTML page on which a person decides a requirement, without scripts.
import { createHash } from 'node:crypto'
import type { PageMarkup } from '@postern/http'
import type { Policy, RememberScope, RequirementKind } from '@postern/message'
import { isForOperator, isoTime, readApproval } from '@postern/message'
import type { AgentDirectory, RememberedDecision, RequirementRecord, RequirementStatus } from '@postern/pipeline'
import { html, raw } from 'hono/html'

const pageStyle = `:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem}
blockquote{margin:1rem 0;padding:.5rem 1rem;border-left:.25rem solid #8888;white-space:pre-wrap;overflow-wrap:anywhere}
form{display:flex;gap:.75rem;flex-wrap:wrap;margin:1.5rem 0}button,.button{font:inherit;padding:.5rem 1.25rem;border:1px solid #8888;border-radius:.5rem;text-decoration:none;cursor:pointer}
fieldset,form p{flex-basis:100%;margin:0;border:1px solid #8888;border-radius:.5rem}form p{border:0}label{display:block}textarea,pre{flex-basis:100%;box-sizing:border-box;width:100%;font:.9rem ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
.yes{background:#1d6b3a;color:#fff;border-color:#1d6b3a}small,dt{color:#777}dd{margin:0 0 .5rem}`

const styleHash = createHash('sha256').update(pageStyle).digest('base64')

/** The headers of every page. A page cannot be framed, uses its own style, sends its form only to the gateway, and runs no scripts. */
export const requirementPageHeaders = {
  'content-type': 'text/html; charset=UTF-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex, nofollow',
  'cross-origin-opener-policy': 'same-origin',
} as const

export interface RequirementPageDeps {
  readonly agents: AgentDirectory
}

/** The choices of a person in addition to "No". */
export interface PageChoices {
  readonly canAgree: boolean
  readonly checkoutUrl?: string | undefined
  /** True if the person may pay with the test provider, without money. */
  readonly canTestPay: boolean
}

const headings: Readonly<Record<RequirementKind, string>> = {
  consent_required: 'Do you agree?',
  payment_required: 'A payment is asked for',
  unauthorized: 'Who are you?',
}

interface RequirementPage {
  /** The policy of the requirement in the reader's language. */
  readonly policy: Policy
  readonly choices: PageChoices
  readonly deps: RequirementPageDeps
}

/** Renders the question, the agent that asks, the person who is asked, and the deadline. */
export function renderRequirementPage(
  requirement: RequirementRecord,
  { policy, choices, deps }: RequirementPage,
): PageMarkup {
  return renderPageFrame(
    policy.title ?? headings[requirement.kind],
    html`${describeParties(requirement, deps)}
<blockquote>${policy.message}</blockquote>
${requirement.kind === 'payment_required' ? html`<p><strong>${String(policy.amount)} ${String(policy.currency)}</strong></p>` : ''}
${requirement.kind === 'unauthorized' ? renderChallenges(policy) : ''}
${renderForm(policy, choices)}
${renderHint(requirement.kind, choices)}
<p><small>It can be decided once, until ${showTime(requirement.expiresAt)}. If you have not written to this agent, close this page: nothing happens.</small></p>`,
  )
}

function renderForm(policy: Policy, { canAgree, checkoutUrl, canTestPay }: PageChoices): PageMarkup {
  const agreeLabel = policy.action_label ?? 'I agree'
  return html`<form method="post">
${canAgree ? renderRememberChoice(policy) : ''}
${canAgree ? html`<button class="yes" name="decision" value="grant">${agreeLabel}</button>` : ''}
${checkoutUrl === undefined ? '' : html`<a class="button yes" rel="noreferrer" href="${checkoutUrl}">${policy.action_label ?? 'Pay'}</a>`}
${canTestPay ? html`<button class="yes" name="decision" value="pay_test">Pay (test)</button>` : ''}
<button name="decision" value="decline">No</button>
</form>`
}

function renderHint(kind: RequirementKind, { checkoutUrl, canTestPay }: PageChoices): PageMarkup | '' {
  if (kind === 'unauthorized') return html`<p>Once it is known who you are, the agent goes on by itself.</p>`
  const canPay = checkoutUrl !== undefined || canTestPay
  return kind === 'payment_required' && !canPay ? html`<p>Ask whoever runs this agent how to pay.</p>` : ''
}

/** Renders the ways to authenticate (RFC 9110 §11.1). An https address becomes a link. */
function renderChallenges({ auth_challenges: challenges = [] }: Policy): PageMarkup {
  const lines = challenges.flatMap(({ scheme, ...parameters }) => {
    const textParameters = Object.entries(parameters).filter(([, value]) => typeof value === 'string')
    return [['Scheme', scheme], ...textParameters] as [string, string][]
  })
  return html`<dl>${lines.map(([name, value]) => html`<dt>${name}</dt><dd>${showValue(value)}</dd>`)}</dl>`
}

function showValue(value: string): PageMarkup | string {
  const isAddress = URL.canParse(value) && new URL(value).protocol === 'https:'
  return isAddress ? html`<a rel="noreferrer" href="${value}">${value}</a>` : value
}

const endHeadings: Readonly<Record<Exclude<RequirementStatus, 'open'>, Readonly<Record<RequirementKind, string>>>> = {
  granted: { consent_required: 'Agreed', payment_required: 'Paid', unauthorized: 'You are known now' },
  declined: { consent_required: 'Not agreed', payment_required: 'Not paid', unauthorized: 'Not gone on with' },
  expired: { consent_required: 'This is over', payment_required: 'This is over', unauthorized: 'This is over' },
}

/** The content of the page of a decided requirement. */
interface EndPageContent {
  readonly policy: Policy
  /** The sentence that says what this visit has changed. */
  readonly note: string
  /** The remembered decision that still counts for later calls. Absent if there is none. */
  readonly rememberedDecision?: RememberedDecision | undefined
}

/** Renders the page of a requirement that was decided or has expired. */
export function renderEndPage(
  requirement: RequirementRecord,
  { policy, note, rememberedDecision }: EndPageContent,
  deps: RequirementPageDeps,
): PageMarkup {
  const { status, kind, resolvedAt } = requirement
  const endHeading = endHeadings[status === 'open' ? 'expired' : status][kind]
  const explanation =
    status === 'expired' ? 'It was not decided in time, or was taken back. Write to the agent again.' : note
  return renderPageFrame(
    endHeading,
    html`${describeParties(requirement, deps)}
<blockquote>${policy.message}</blockquote>
<p>${explanation}</p>
${resolvedAt === undefined ? '' : html`<p><small>Decided at ${showTime(resolvedAt)}.</small></p>`}
${rememberedDecision ? renderRemembered(rememberedDecision) : ''}`,
  )
}

/** Renders the page for every address without a requirement, regardless of the reason. */
export function renderNotFoundPage(): PageMarkup {
  return renderPageFrame('There is nothing here', html`<p>This link is not known here, or not any more.</p>`)
}

/** Renders the page of a decision that was refused. */
export function renderProblemPage(reason: string): PageMarkup {
  return renderPageFrame('That did not work', html`<p>${reason}</p>`)
}

function describeParties({ agent, address, policy }: RequirementRecord, { agents }: RequirementPageDeps): PageMarkup {
  const name = agents.find(agent)?.displayName ?? agent
  return html`<p><strong>${name}</strong> (<code>@${agent}@${agents.domain}</code>), an automated agent, asks ${isForOperator(policy) ? 'its operator' : html`<code>${address}</code>`}:</p>`
}

export function renderPageFrame(title: string, body: PageMarkup): PageMarkup {
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<title>${title}</title>
<style>${raw(pageStyle)}</style>
<h1>${title}</h1>
${body}
</html>`
}

export function showTime(ms: number): PageMarkup {
  const iso = isoTime(ms)
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`
}

const scopeLabels = {
  conversation: 'in this conversation',
  always: 'from now on, wherever you write to this agent',
} as const

/** Renders the choice of how long the answer, yes or no, counts, if it can be remembered. */
export function renderRememberChoice(
  policy: Policy,
  labels: Readonly<Record<RememberScope, string>> = scopeLabels,
): PageMarkup | '' {
  const { kind, remember } = readApproval(policy) ?? {}
  if (!remember || remember.scopes.length === 0) return ''
  return html`<fieldset><legend>My answer counts</legend>
<label><input type="radio" name="remember" value="once" checked> this once</label>
${remember.scopes.map(
  scope =>
    html`<label><input type="radio" name="remember" value="${scope}"> ${labels[scope]}: <code>${kind}</code> is not asked for again${remember.calls ? argumentKindText : ''} for ${remember.days} days</label>`,
)}
</fieldset>`
}

/** The addition for a decision that counts only for calls with arguments of one kind. */
const argumentKindText = ' with arguments of this kind'

const rememberedPolicyTexts = { direct: 'runs without asking', forbidden: 'is not run, and not asked for,' } as const
const rememberedScopeTexts = { conversation: 'in this conversation', always: 'wherever it is asked for' } as const

/** Renders the remembered decision and the time of its end. */
function renderRemembered({ tool, calls, policy, scope, expires_at }: RememberedDecision): PageMarkup {
  return html`<form method="post">
<p><code>${tool}</code>${calls ? argumentKindText : ''} ${rememberedPolicyTexts[policy]} ${rememberedScopeTexts[scope]}, until ${showTime(Date.parse(expires_at))}.</p>
<button name="decision" value="ask_again">Ask again from now on</button>
</form>`
}
