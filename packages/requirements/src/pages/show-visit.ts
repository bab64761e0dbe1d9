import type { OperatorApprovals, Policy, RequirementObjection, RequirementRecord } from '@postern/core'
import { actionUrl, describeObjection, translatePolicy } from '@postern/core'
import type { PageMarkup } from '@postern/http'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { DecisionDeps } from '../decisions/decide.ts'
import { mayGrant } from '../decisions/decide.ts'
import { renderOperatorPage } from './operator-page.ts'
import type { PageChoices, RequirementPageDeps } from './page.ts'
import { renderEndPage, renderProblemPage, renderRequirementPage, requirementPageHeaders } from './page.ts'

export type RequirementVisitDeps = DecisionDeps & RequirementPageDeps & { readonly approvals: OperatorApprovals }

/** Somebody with a valid link, and what it is of as it is now. */
export interface Visit {
  readonly requirement: RequirementRecord
  readonly context: Context
  readonly gateway: RequirementVisitDeps
}

const maxLocales = 10

/** The page of a requirement: what can be decided, or what was. `note`: what the page says once it is over. */
export async function showRequirement(visit: Visit, note = 'The agent has been told.'): Promise<Response> {
  const { requirement, context, gateway } = visit
  if (requirement.status !== 'open') return showEnd(visit, note, 200)
  const approval = await gateway.approvals.find(requirement.id)
  const page = approval
    ? renderOperatorPage(approval, gateway)
    : renderRequirementPage(requirement, inLanguageOf(context, requirement.policy), choicesOf(visit), gateway)
  return answerVisit(context, page, 200)
}

/** A decision that came too late shows the one that counts. */
export async function showRefused(visit: Visit, reason: RequirementObjection): Promise<Response> {
  if (visit.requirement.status !== 'open') {
    return showEnd(visit, 'This was decided already; nothing has been changed now.', 409)
  }
  return answerVisit(visit.context, renderProblemPage(describeObjection(reason)), 409)
}

async function showEnd(
  { requirement, context, gateway }: Visit,
  note: string,
  status: ContentfulStatusCode,
): Promise<Response> {
  const policy = inLanguageOf(context, requirement.policy)
  const remembered = await gateway.store.findRememberedOf(requirement)
  const page = renderEndPage(requirement, { policy, note, remembered }, gateway)
  return answerVisit(context, page, requirement.status === 'expired' ? 410 : status)
}

function choicesOf({ requirement, context, gateway }: Visit): PageChoices {
  const { agents, provider } = gateway
  if (requirement.kind !== 'payment_required') return { canAgree: mayGrant('link', requirement), canTestPay: false }
  const returnUrl = `${actionUrl(agents, context.req.param('state') ?? '')}/receipt`
  const checkoutUrl = provider?.checkoutUrl?.(requirement, returnUrl)
  return { canAgree: false, checkoutUrl, canTestPay: provider?.payNow !== undefined }
}

/** `Accept-Language`, as far as the words were translated. */
function inLanguageOf(context: Context, policy: Policy): Policy {
  const named = (context.req.header('accept-language') ?? '').slice(0, 500).split(',', maxLocales)
  const locales = named.map(each => each.split(';')[0]?.trim() ?? '').filter(Boolean)
  return translatePolicy(policy, locales)
}

export async function answerVisit(context: Context, page: PageMarkup, status: ContentfulStatusCode): Promise<Response> {
  return context.body(String(await page), status, requirementPageHeaders)
}
