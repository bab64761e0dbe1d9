// Routes the pages where people decide requirements, and the callback of the payment provider.

import { networkOf, peerAddress, readBody } from '@postern/http'
import { createRateLimit } from '@postern/limits'
import { Rejection } from '@postern/message'
import { describeObjection } from '@postern/pipeline'
import type { Context, MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import { payRequirement } from './decisions/decide.ts'
import type { FindByState } from './decisions/states.ts'
import { renderNotFoundPage } from './pages/page.ts'
import type { RequirementVisitDeps } from './pages/show-visit.ts'
import { answerVisit } from './pages/show-visit.ts'
import type { VisitHandler } from './pages/visits.ts'
import { createVisits } from './pages/visits.ts'

type RequirementRouteDeps = RequirementVisitDeps & { readonly findByState: FindByState }

const maxReceiptBytes = 16_384
/** The maximum number of requests per minute from one network address. A provider sends the receipts of all people, so its limit is higher. */
const perMinute = { pages: 60, receipts: 600 } as const

/** Creates the routes of the pages where people decide, and where payment providers report payments. A visit alone decides nothing. */
export function createDecisionRoutes(deps: RequirementRouteDeps): Hono {
  const answerLink = createLinkCheck(deps)
  const visits = createVisits(deps)
  return new Hono()
    .use('/actions/*', limitVisits(perMinute.pages, deps))
    .use('/payments/*', limitVisits(perMinute.receipts, deps))
    .get('/actions/:state', context => answerLink(context, visits.show))
    .post('/actions/:state', context => answerLink(context, visits.decide))
    .get('/actions/:state/receipt', context => answerLink(context, visits.acceptReceipt))
    .post('/payments/callback', createCallback(deps))
}

function limitVisits(maxPerMinute: number, { system }: RequirementRouteDeps): MiddlewareHandler {
  const visits = createRateLimit({ perMinute: maxPerMinute }, () => system.now())
  return async function countVisit(context, next) {
    visits.consume(networkOf(peerAddress(context.env)))
    await next()
  }
}

/** Creates the check of links. A visitor without a valid link gets a page that reveals nothing about a requirement. */
function createLinkCheck({ findByState }: RequirementRouteDeps) {
  return async (context: Context, visit: VisitHandler): Promise<Response> => {
    const { requirement, isValid } = await findByState(context.req.param('state') ?? '')
    if (!requirement || !isValid) return answerVisit(context, renderNotFoundPage(), requirement ? 403 : 404)
    return visit(requirement, context)
  }
}

/** Creates the handler of a provider's receipt, which arrives from server to server as the body. */
function createCallback(deps: RequirementRouteDeps) {
  return async (context: Context): Promise<Response> => {
    const receipt = Buffer.from(await readBody(context.req.raw, maxReceiptBytes))
      .toString('latin1')
      .trim()
    const id = deps.provider?.requirementOf(receipt)
    const requirement = id === undefined ? undefined : await deps.store.findRequirement({ id })
    if (!requirement)
      throw new Rejection('no_recipient', 'Cannot take receipt: it is for no requirement of this gateway')
    const { requirement: paidRequirement, reason } = await payRequirement(requirement, receipt, deps)
    if (reason) throw new Rejection('forbidden', `Cannot take receipt: ${describeObjection(reason)}`)
    context.header('cache-control', 'no-store')
    return context.json({ requirement: paidRequirement.id, status: paidRequirement.status })
  }
}
