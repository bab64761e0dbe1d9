// Handles the visit of a person to the page of a requirement: the page itself, the decision, and the return from a payment.

import { parseBoundedJson, parseMediaType, readBody } from '@postern/http'
import type { Json, ResolutionOutcome } from '@postern/message'
import { isForOperator, Rejection } from '@postern/message'
import type { OperatorApproval, OperatorDecision, RequirementRecord } from '@postern/pipeline'
import { actionUrl, readRemember } from '@postern/pipeline'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { decideRequirement, payRequirement } from '../decisions/decide.ts'
import { renderProblemPage, requirementPageHeaders } from './page.ts'
import type { RequirementVisitDeps, Visit } from './show-visit.ts'
import { answerVisit, showRefusal, showRequirement } from './show-visit.ts'

/** Decides or shows a requirement for a visitor who has a valid link. */
export type VisitHandler = (requirement: RequirementRecord, context: Context) => Promise<Response> | Response

const maxPlainFormBytes = 4_096
/** The maximum size of a form with the arguments of a call, bytes. */
const maxOperatorFormBytes = 128 * 1_024

export function createVisits(deps: RequirementVisitDeps) {
  const show: VisitHandler = (requirement, context) => showRequirement({ requirement, context, deps })
  return {
    /** Shows the page and decides nothing. */
    show,
    decide: withErrorPage(async (requirement, context) => {
      const maxFormBytes = isForOperator(requirement.policy) ? maxOperatorFormBytes : maxPlainFormBytes
      const form = await readForm(context.req.raw, maxFormBytes)
      const decision = form.get('decision') ?? ''
      const handleDecision = Object.hasOwn(decisionHandlers, decision) ? decisionHandlers[decision] : undefined
      if (!handleDecision) throw new Rejection('malformed', 'Cannot decide: say decision=grant or decision=decline')
      return handleDecision({ requirement, context, deps }, form)
    }),
    /** Accepts the receipt of a person who returns from paying. */
    acceptReceipt: withErrorPage(async (requirement, context) => {
      const visit = { requirement, context, deps }
      const receipt = context.req.query('receipt')
      if (receipt === undefined || context.req.method !== 'GET') return showRequirement(visit)
      const { requirement: paidRequirement, reason } = await payRequirement(requirement, receipt, deps)
      if (reason) return showRefusal({ ...visit, requirement: paidRequirement }, reason)
      // The redirect keeps the receipt out of the browser's history.
      return context.body(null, 303, {
        ...requirementPageHeaders,
        location: actionUrl(deps.agents, context.req.param('state') ?? ''),
      })
    }),
  }
}

/** The handlers of a form, by its `decision`. */
const decisionHandlers: Readonly<Record<string, (visit: Visit, form: URLSearchParams) => Promise<Response>>> = {
  grant: (visit, form) => decideByForm(visit, 'granted', form),
  decline: (visit, form) => decideByForm(visit, 'declined', form),
  async ask_again(visit) {
    const { requirement, deps } = visit
    const rememberedDecision = await deps.store.findDecisionOfRequirement(requirement)
    if (rememberedDecision)
      await deps.store.revokeRememberedDecision({ agent: requirement.agent, id: rememberedDecision.id })
    return showRequirement(visit, 'You will be asked again next time.')
  },
  async pay_test(visit) {
    const { requirement, deps } = visit
    const { provider } = deps
    if (!provider?.payNow) throw new Rejection('forbidden', 'Cannot pay: there is no test provider here')
    if (requirement.status !== 'open') return showRefusal(visit, 'used')
    const payment = await payRequirement(requirement, await provider.payNow(requirement), deps)
    const paidVisit = { ...visit, requirement: payment.requirement }
    return payment.reason ? showRefusal(paidVisit, payment.reason) : showRequirement(paidVisit)
  },
}

async function decideByForm(visit: Visit, outcome: ResolutionOutcome, form: URLSearchParams): Promise<Response> {
  const { requirement, deps } = visit
  const approval = await deps.approvals.find(requirement.id)
  const remember = readRemember(form.get('remember'), requirement)
  const result = approval
    ? await deps.approvals.decide(approval, { ...readOperatorDecision(approval, outcome, form), remember })
    : await decideRequirement(requirement, { method: 'link', outcome, remember }, deps)
  return result.outcome === 'resolved'
    ? showRequirement({ ...visit, requirement: result.requirement })
    : showRefusal({ ...visit, requirement: result.requirement ?? requirement }, result.reason)
}

/** Wraps a visit, so that a Rejection becomes an error page. */
function withErrorPage(visit: VisitHandler): VisitHandler {
  return async (requirement, context) => {
    try {
      return await visit(requirement, context)
    } catch (error) {
      if (!(error instanceof Rejection)) throw error
      return answerVisit(context, renderProblemPage(error.message), statusByCode[error.code] ?? 400)
    }
  }
}

const statusByCode: Readonly<Record<string, ContentfulStatusCode>> = {
  forbidden: 403,
  too_large: 413,
  unsupported: 415,
}

async function readForm(request: Request, maxBytes: number): Promise<URLSearchParams> {
  const { type } = parseMediaType(request.headers.get('content-type') ?? '') ?? {}
  if (type !== 'application/x-www-form-urlencoded') {
    throw new Rejection('unsupported', 'Cannot decide: send application/x-www-form-urlencoded')
  }
  return new URLSearchParams(Buffer.from(await readBody(request, maxBytes)).toString())
}

/**
 * Reads an operator's decision, with the arguments of the form if the page has shown them.
 * @throws Rejection malformed
 */
function readOperatorDecision(
  { call }: OperatorApproval,
  outcome: ResolutionOutcome,
  form: URLSearchParams,
): OperatorDecision {
  const text = outcome === 'granted' && call?.schema ? form.get('arguments') : null
  const args = text === null ? undefined : (parseBoundedJson(Buffer.from(text), { label: 'arguments' }) as Json)
  return { method: 'link', isGranted: outcome === 'granted', args }
}
