import type {
  Json,
  OperatorApproval,
  OperatorApprovals,
  OperatorWord,
  Policy,
  RequirementObjection,
  RequirementRecord,
  ResolutionOutcome,
} from '@postern/core'
import { actionUrl, describeObjection, isForOperator, Rejection, readRemember, translatePolicy } from '@postern/core'
import type { PageMarkup } from '@postern/http'
import { parseBoundedJson, parseMediaType, readBody } from '@postern/http'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { DecisionDeps } from '../decisions/decide.ts'
import { decideRequirement, mayGrant, payRequirement } from '../decisions/decide.ts'
import { renderOperatorPage } from './operator-page.ts'
import type { PageChoices, RequirementPageDeps } from './page.ts'
import { renderEndPage, renderProblemPage, renderRequirementPage, requirementPageHeaders } from './page.ts'

/** What somebody wants who has a valid link. */
export type RequirementVisit = (requirement: RequirementRecord, context: Context) => Promise<Response> | Response

export type RequirementVisitDeps = DecisionDeps & RequirementPageDeps & { readonly approvals: OperatorApprovals }

const maxForm = 4_096
/** With the arguments of a call. */
const maxOperatorForm = 128 * 1_024
const maxLocales = 10

interface Said {
  readonly context: Context
  readonly form: URLSearchParams
}

interface Visits {
  /** Decides nothing. */
  readonly show: RequirementVisit
  readonly decide: RequirementVisit
  /** Of a person who comes back from paying. */
  readonly takeReceipt: RequirementVisit
}

export function createVisits(gateway: RequirementVisitDeps): Visits {
  const { provider } = gateway

  function choicesOf(requirement: RequirementRecord, context: Context): PageChoices {
    const { kind } = requirement
    if (kind !== 'payment_required') return { canAgree: mayGrant('link', requirement), canTestPay: false }
    const returnUrl = `${actionUrl(gateway.agents, context.req.param('state') ?? '')}/receipt`
    const checkoutUrl = provider?.checkoutUrl?.(requirement, returnUrl)
    return { canAgree: false, checkoutUrl, canTestPay: provider?.payNow !== undefined }
  }

  async function show(
    requirement: RequirementRecord,
    context: Context,
    note = 'The agent has been told.',
  ): Promise<Response> {
    const policy = inLanguageOf(context, requirement.policy)
    if (requirement.status === 'open') {
      const approval = await gateway.approvals.find(requirement.id)
      if (approval) return answerVisit(context, renderOperatorPage(approval, gateway), 200)
      return answerVisit(
        context,
        renderRequirementPage(requirement, policy, choicesOf(requirement, context), gateway),
        200,
      )
    }
    return showEnd(requirement, { policy, note, status: 200 }, context)
  }

  async function showEnd(
    requirement: RequirementRecord,
    { policy, note, status }: { readonly policy: Policy; readonly note: string; readonly status: ContentfulStatusCode },
    context: Context,
  ): Promise<Response> {
    const remembered = await gateway.store.findRememberedOf(requirement)
    const page = renderEndPage(requirement, { policy, note, remembered }, gateway)
    return answerVisit(context, page, requirement.status === 'expired' ? 410 : status)
  }

  /** A decision that came too late shows the one that counts. */
  function showRefused(requirement: RequirementRecord, reason: RequirementObjection, context: Context) {
    if (requirement.status === 'open') return answerVisit(context, renderProblemPage(describeObjection(reason)), 409)
    const note = 'This was decided already; nothing has been changed now.'
    const policy = inLanguageOf(context, requirement.policy)
    return showEnd(requirement, { policy, note, status: 409 }, context)
  }

  async function take(
    requirement: RequirementRecord,
    outcome: ResolutionOutcome,
    { context, form }: Said,
  ): Promise<Response> {
    const approval = await gateway.approvals.find(requirement.id)
    const remember = readRemember(form.get('remember'), requirement)
    const resolved = approval
      ? await gateway.approvals.decide(approval, { ...readWord(approval, outcome, form), remember })
      : await decideRequirement(requirement, { method: 'link', outcome, remember }, gateway)
    return resolved.outcome === 'resolved'
      ? show(resolved.requirement, context)
      : showRefused(resolved.requirement ?? requirement, resolved.reason, context)
  }

  async function pay(requirement: RequirementRecord, receipt: string, context: Context): Promise<Response> {
    const paid = await payRequirement(requirement, receipt, gateway)
    return paid.reason ? showRefused(paid.requirement, paid.reason, context) : show(paid.requirement, context)
  }

  const decisions: Readonly<Record<string, (requirement: RequirementRecord, said: Said) => Promise<Response>>> = {
    grant: (requirement, said) => take(requirement, 'granted', said),
    decline: (requirement, said) => take(requirement, 'declined', said),
    async ask_again(requirement, { context }) {
      const remembered = await gateway.store.findRememberedOf(requirement)
      if (remembered) await gateway.store.revokeRemembered({ agent: requirement.agent, id: remembered.id })
      return show(requirement, context, 'It is asked for again from now on.')
    },
    async pay_test(requirement, { context }) {
      if (!provider?.payNow) throw new Rejection('forbidden', 'Cannot pay: there is no test provider here')
      if (requirement.status !== 'open') return showRefused(requirement, 'used', context)
      return pay(requirement, await provider.payNow(requirement), context)
    },
  }

  return {
    show: (requirement: RequirementRecord, context: Context) => show(requirement, context),
    decide: guarded(async (requirement, context) => {
      const most = isForOperator(requirement.policy) ? maxOperatorForm : maxForm
      const form = await readForm(context.req.raw, most)
      const decision = form.get('decision') ?? ''
      const decide = Object.hasOwn(decisions, decision) ? decisions[decision] : undefined
      if (!decide) throw new Rejection('malformed', 'Cannot decide: say decision=grant or decision=decline')
      return decide(requirement, { context, form })
    }),
    takeReceipt: guarded(async (requirement, context) => {
      const receipt = context.req.query('receipt')
      if (receipt === undefined || context.req.method !== 'GET') return show(requirement, context)
      const { requirement: paid, reason } = await payRequirement(requirement, receipt, gateway)
      if (reason) return showRefused(paid, reason, context)
      // So that the receipt stays in no history.
      return context.body(null, 303, {
        ...requirementPageHeaders,
        location: actionUrl(gateway.agents, context.req.param('state') ?? ''),
      })
    }),
  }
}

/** What is refused is told on a page. */
function guarded(visit: RequirementVisit): RequirementVisit {
  return async (requirement, context) => {
    try {
      return await visit(requirement, context)
    } catch (error) {
      if (!(error instanceof Rejection)) throw error
      return answerVisit(context, renderProblemPage(error.message), statuses[error.code] ?? 400)
    }
  }
}

const statuses: Readonly<Record<string, ContentfulStatusCode>> = { forbidden: 403, too_large: 413, unsupported: 415 }

async function readForm(request: Request, maxBytes: number): Promise<URLSearchParams> {
  const { type } = parseMediaType(request.headers.get('content-type') ?? '') ?? {}
  if (type !== 'application/x-www-form-urlencoded') {
    throw new Rejection('unsupported', 'Cannot decide: send application/x-www-form-urlencoded')
  }
  return new URLSearchParams(Buffer.from(await readBody(request, maxBytes)).toString())
}

/** The arguments as they stand in the form; a page that shows none sends none. @throws Rejection malformed */
function readWord({ call }: OperatorApproval, outcome: ResolutionOutcome, form: URLSearchParams): OperatorWord {
  const text = outcome === 'granted' && call?.schema ? form.get('arguments') : null
  const args = text === null ? undefined : (parseBoundedJson(Buffer.from(text), { what: 'arguments' }) as Json)
  return { method: 'link', isGranted: outcome === 'granted', args }
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
