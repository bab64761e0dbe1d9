import type {
  DemandObjection,
  DemandRecord,
  Json,
  OperatorApproval,
  OperatorApprovals,
  OperatorWord,
  Policy,
  ResolutionOutcome,
} from '@postern/core'
import { actionUrl, describeObjection, isForOperator, Rejection, readRemember, translatePolicy } from '@postern/core'
import { parseBoundedJson, parseMediaType, readBody } from '@postern/http'
import type { Context } from 'hono'
import type { html } from 'hono/html'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { Deciding } from './decide.ts'
import { decideDemand, mayGrant, payDemand } from './decide.ts'
import { renderOperatorPage } from './operator-page.ts'
import type { PageChoices, PageHouse } from './page.ts'
import { pageHeaders, renderDemandPage, renderEndPage, renderProblemPage } from './page.ts'

/** What somebody wants who has a valid link. */
export type Visit = (demand: DemandRecord, context: Context) => Promise<Response> | Response

export type VisitHouse = Deciding & PageHouse & { readonly approvals: OperatorApprovals }

const maxForm = 4_096
/** With the arguments of a call. */
const maxOperatorForm = 128 * 1_024
const maxLocales = 10

interface Said {
  readonly context: Context
  readonly form: URLSearchParams
}

export interface Visits {
  /** Decides nothing. */
  readonly show: Visit
  readonly decide: Visit
  /** Of a person who comes back from paying. */
  readonly takeReceipt: Visit
}

export function createVisits(house: VisitHouse): Visits {
  const { provider } = house

  function choicesOf(demand: DemandRecord, context: Context): PageChoices {
    const { kind } = demand
    if (kind !== 'payment_required') return { canAgree: mayGrant('link', demand), canTestPay: false }
    const returnUrl = `${actionUrl(house.agents, context.req.param('state') ?? '')}/receipt`
    const checkoutUrl = provider?.checkoutUrl?.(demand, returnUrl)
    return { canAgree: false, checkoutUrl, canTestPay: provider?.payNow !== undefined }
  }

  async function show(demand: DemandRecord, context: Context, note = 'The agent has been told.'): Promise<Response> {
    const policy = inLanguageOf(context, demand.policy)
    if (demand.status === 'open') {
      const approval = await house.approvals.find(demand.id)
      if (approval) return answerPage(context, renderOperatorPage(approval, house), 200)
      return answerPage(context, renderDemandPage(demand, policy, choicesOf(demand, context), house), 200)
    }
    return showEnd(demand, { policy, note, status: 200 }, context)
  }

  async function showEnd(
    demand: DemandRecord,
    { policy, note, status }: { readonly policy: Policy; readonly note: string; readonly status: ContentfulStatusCode },
    context: Context,
  ): Promise<Response> {
    const remembered = await house.desk.findRememberedOf(demand)
    const page = renderEndPage(demand, { policy, note, remembered }, house)
    return answerPage(context, page, demand.status === 'expired' ? 410 : status)
  }

  /** A decision that came too late shows the one that counts. */
  function showRefused(demand: DemandRecord, reason: DemandObjection, context: Context) {
    if (demand.status === 'open') return answerPage(context, renderProblemPage(describeObjection(reason)), 409)
    const note = 'This was decided already; nothing has been changed now.'
    const policy = inLanguageOf(context, demand.policy)
    return showEnd(demand, { policy, note, status: 409 }, context)
  }

  async function take(demand: DemandRecord, outcome: ResolutionOutcome, { context, form }: Said): Promise<Response> {
    const approval = await house.approvals.find(demand.id)
    const remember = readRemember(form.get('remember'), demand)
    const resolved = approval
      ? await house.approvals.decide(approval, { ...readWord(approval, outcome, form), remember })
      : await decideDemand(demand, { method: 'link', outcome, remember }, house)
    return resolved.outcome === 'resolved'
      ? show(resolved.demand, context)
      : showRefused(resolved.demand ?? demand, resolved.reason, context)
  }

  async function pay(demand: DemandRecord, receipt: string, context: Context): Promise<Response> {
    const paid = await payDemand(demand, receipt, house)
    return paid.reason ? showRefused(paid.demand, paid.reason, context) : show(paid.demand, context)
  }

  const decisions: Readonly<Record<string, (demand: DemandRecord, said: Said) => Promise<Response>>> = {
    grant: (demand, said) => take(demand, 'granted', said),
    decline: (demand, said) => take(demand, 'declined', said),
    async ask_again(demand, { context }) {
      const remembered = await house.desk.findRememberedOf(demand)
      if (remembered) await house.desk.revokeRemembered({ agent: demand.agent, id: remembered.id })
      return show(demand, context, 'It is asked for again from now on.')
    },
    async pay_test(demand, { context }) {
      if (!provider?.payNow) throw new Rejection('forbidden', 'Cannot pay: there is no test provider here')
      if (demand.status !== 'open') return showRefused(demand, 'used', context)
      return pay(demand, await provider.payNow(demand), context)
    },
  }

  return {
    show: (demand: DemandRecord, context: Context) => show(demand, context),
    decide: guarded(async (demand, context) => {
      const most = isForOperator(demand.policy) ? maxOperatorForm : maxForm
      const form = await readForm(context.req.raw, most)
      const decision = form.get('decision') ?? ''
      const decide = Object.hasOwn(decisions, decision) ? decisions[decision] : undefined
      if (!decide) throw new Rejection('malformed', 'Cannot decide: say decision=grant or decision=decline')
      return decide(demand, { context, form })
    }),
    takeReceipt: guarded(async (demand, context) => {
      const receipt = context.req.query('receipt')
      if (receipt === undefined || context.req.method !== 'GET') return show(demand, context)
      const { demand: paid, reason } = await payDemand(demand, receipt, house)
      if (reason) return showRefused(paid, reason, context)
      // So that the receipt stays in no history.
      return context.body(null, 303, {
        ...pageHeaders,
        location: actionUrl(house.agents, context.req.param('state') ?? ''),
      })
    }),
  }
}

/** What is refused is told on a page. */
function guarded(visit: Visit): Visit {
  return async (demand, context) => {
    try {
      return await visit(demand, context)
    } catch (error) {
      if (!(error instanceof Rejection)) throw error
      return answerPage(context, renderProblemPage(error.message), statuses[error.code] ?? 400)
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

export async function answerPage(
  context: Context,
  page: ReturnType<typeof html>,
  status: ContentfulStatusCode,
): Promise<Response> {
  return context.body(String(await page), status, pageHeaders)
}
