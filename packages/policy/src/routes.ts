import { describeObjection, Rejection } from '@postern/core'
import { createRateLimit, networkOf, peerAddress, readBody } from '@postern/http'
import type { Context, MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import { payDemand } from './decide.ts'
import { statePattern } from './demand-house.ts'
import { renderNothingPage } from './page.ts'
import type { Visit, VisitHouse } from './visits.ts'
import { answerPage, createVisits } from './visits.ts'

export type ActionHouse = VisitHouse & { digestOf(state: string): string }

const maxReceipt = 16_384
/** Of one network address: pages, and receipts of a provider, who brings those of all people. */
const perMinute = { pages: 60, receipts: 600 } as const

/** The pages where people decide, and where payment providers say that they were paid. What is only looked at is never decided. */
export function createActionRoutes(house: ActionHouse): Hono {
  const enter = createEntrance(house)
  const visits = createVisits(house)
  return new Hono()
    .use('/actions/*', limitVisits(perMinute.pages, house))
    .use('/payments/*', limitVisits(perMinute.receipts, house))
    .get('/actions/:state', context => enter(context, visits.show))
    .post('/actions/:state', context => enter(context, visits.decide))
    .get('/actions/:state/receipt', context => enter(context, visits.takeReceipt))
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
    if (!demand || !statePattern.test(state)) return answerPage(context, renderNothingPage(), 404)
    return visit(demand, context)
  }
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
