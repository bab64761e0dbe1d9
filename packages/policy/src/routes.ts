import type { DemandRecord, Policy, ResolutionOutcome } from '@postern/core'
import { actionUrl, describeObjection, Rejection, translatePolicy } from '@postern/core'
import { createRateLimit, networkOf, parseMediaType, peerAddress, readBody } from '@postern/http'
import type { Context, MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import type { html } from 'hono/html'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { Deciding } from './decide.ts'
import { decideDemand, mayGrant, payDemand } from './decide.ts'
import { statePattern } from './demand-house.ts'
import type { PageChoices, PageHouse } from './page.ts'
import { pageHeaders, renderDemandPage, renderEndPage, renderNothingPage, renderProblemPage } from './page.ts'

export interface ActionHouse extends Deciding, PageHouse {
  digestOf(state: string): string
}

const maxForm = 4_096
const maxReceipt = 16_384
const maxLocales = 10
/** Of one network address: pages, and receipts of a provider, who brings those of all people. */
const perMinute = { pages: 60, receipts: 600 } as const

type Visit = (demand: DemandRecord, context: Context) => Promise<Response> | Response

/** The pages where people decide, and where payment providers say that they were paid. What is only looked at is never decided. */
export function createActionRoutes(house: ActionHouse): Hono {
  const enter = createEntrance(house)
  const page = createPages(house)
  return new Hono()
    .use('/actions/*', limitVisits(perMinute.pages, house))
    .use('/payments/*', limitVisits(perMinute.receipts, house))
    .get('/actions/:state', context => enter(context, page.show))
    .post('/actions/:state', context => enter(context, page.decide))
    .get('/actions/:state/receipt', context => enter(context, page.takeReceipt))
    .post('/payments/callback', createCallback(house))
}

function limitVisits(most: number, { world }: ActionHouse): MiddlewareHandler {
  const visits = createRateLimit({ perMinute: most }, () => world.now())
  return async function countVisit(context, next) {
    visits.take(networkOf(peerAddress(context.env)))
    await next()
  }
}

/** Whoever has no valid link learns nothing, and takes as long. */
function createEntrance({ desk, digestOf }: ActionHouse) {
  return async (context: Context, visit: Visit): Promise<Response> => {
    const state = context.req.param('state') ?? ''
    const demand = await desk.findDemand({ digest: digestOf(state) })
    if (!demand || !statePattern.test(state)) return answer(context, renderNothingPage(), 404)
    return visit(demand, context)
  }
}

function createPages(house: ActionHouse) {
  const { provider } = house

  function choicesOf(demand: DemandRecord, context: Context): PageChoices {
    const { kind } = demand
    if (kind !== 'payment_required') return { canAgree: mayGrant('link', kind), canTestPay: false }
    const returnUrl = `${actionUrl(house.agents, context.req.param('state') ?? '')}/receipt`
    const checkoutUrl = provider?.checkoutUrl?.(demand, returnUrl)
    return { canAgree: false, checkoutUrl, canTestPay: provider?.payNow !== undefined }
  }

  function show(demand: DemandRecord, context: Context, note = 'The agent has been told.'): Promise<Response> {
    const policy = inLanguageOf(context, demand.policy)
    if (demand.status === 'open') {
      return answer(context, renderDemandPage(demand, policy, choicesOf(demand, context), house), 200)
    }
    return answer(context, renderEndPage(demand, policy, note, house), demand.status === 'expired' ? 410 : 200)
  }

  /** A decision that came too late shows the one that counts. */
  function showRefused(demand: DemandRecord, reason: Parameters<typeof describeObjection>[0], context: Context) {
    if (demand.status === 'open') return answer(context, renderProblemPage(describeObjection(reason)), 409)
    const note = 'This was decided already; nothing has been changed now.'
    const policy = inLanguageOf(context, demand.policy)
    return answer(context, renderEndPage(demand, policy, note, house), demand.status === 'expired' ? 410 : 409)
  }

  async function take(demand: DemandRecord, outcome: ResolutionOutcome, context: Context): Promise<Response> {
    const resolved = await decideDemand(demand, { method: 'link', outcome }, house)
    return resolved.outcome === 'resolved'
      ? show(resolved.demand, context)
      : showRefused(resolved.demand ?? demand, resolved.reason, context)
  }

  async function pay(demand: DemandRecord, receipt: string, context: Context): Promise<Response> {
    const paid = await payDemand(demand, receipt, house)
    return paid.reason ? showRefused(paid.demand, paid.reason, context) : show(paid.demand, context)
  }

  const decisions: Readonly<Record<string, Visit>> = {
    grant: (demand, context) => take(demand, 'granted', context),
    decline: (demand, context) => take(demand, 'declined', context),
    async pay_test(demand, context) {
      if (!provider?.payNow) throw new Rejection('forbidden', 'Cannot pay: there is no test provider here')
      if (demand.status !== 'open') return showRefused(demand, 'used', context)
      return pay(demand, await provider.payNow(demand), context)
    },
  }

  return {
    show: (demand: DemandRecord, context: Context) => show(demand, context),
    decide: guarded(async (demand, context) => {
      const decision = await readDecision(context.req.raw)
      const decide = Object.hasOwn(decisions, decision) ? decisions[decision] : undefined
      if (!decide) throw new Rejection('malformed', 'Cannot decide: say decision=grant or decision=decline')
      return decide(demand, context)
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
      return answer(context, renderProblemPage(error.message), statuses[error.code] ?? 400)
    }
  }
}

const statuses: Readonly<Record<string, ContentfulStatusCode>> = { forbidden: 403, too_large: 413, unsupported: 415 }

async function readDecision(request: Request): Promise<string> {
  const { type } = parseMediaType(request.headers.get('content-type') ?? '') ?? {}
  if (type !== 'application/x-www-form-urlencoded') {
    throw new Rejection('unsupported', 'Cannot decide: send application/x-www-form-urlencoded')
  }
  const form = new URLSearchParams(Buffer.from(await readBody(request, maxForm)).toString())
  return form.get('decision') ?? ''
}

/** `Accept-Language`, as far as the words were translated. */
function inLanguageOf(context: Context, policy: Policy): Policy {
  const named = (context.req.header('accept-language') ?? '').slice(0, 500).split(',', maxLocales)
  const locales = named.map(each => each.split(';')[0]?.trim() ?? '').filter(Boolean)
  return translatePolicy(policy, locales)
}

async function answer(
  context: Context,
  page: ReturnType<typeof html>,
  status: ContentfulStatusCode,
): Promise<Response> {
  return context.body(String(await page), status, pageHeaders)
}

/** From server to server: the body is the receipt. */
function createCallback(house: ActionHouse) {
  return async (context: Context): Promise<Response> => {
    const receipt = Buffer.from(await readBody(context.req.raw, maxReceipt))
      .toString('latin1')
      .trim()
    const id = house.provider?.demandOf(receipt)
    const demand = id === undefined ? undefined : await house.desk.findDemand({ id })
    if (!demand) throw new Rejection('no_recipient', 'Cannot take receipt: it is for no demand of this house')
    const { demand: paid, reason } = await payDemand(demand, receipt, house)
    if (reason) throw new Rejection('forbidden', `Cannot take receipt: ${describeObjection(reason)}`)
    context.header('cache-control', 'no-store')
    return context.json({ demand: paid.id, status: paid.status })
  }
}
