import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { RequirementDeps, Store } from '@postern/core'
import { describeObjection, Rejection } from '@postern/core'
import { networkOf, peerAddress, readBody } from '@postern/http'
import { createRateLimit } from '@postern/limits'
import type { Context, MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import { payRequirement } from './decisions/decide.ts'
import { renderNothingPage } from './pages/page.ts'
import type { RequirementVisitDeps } from './pages/show-visit.ts'
import { answerVisit } from './pages/show-visit.ts'
import type { RequirementVisit } from './pages/visits.ts'
import { createVisits } from './pages/visits.ts'

type RequirementRouteDeps = RequirementVisitDeps & { digestOf(state: string): string }

const maxReceipt = 16_384
/** Of one network address: pages, and receipts of a provider, who brings those of all people. */
const perMinute = { pages: 60, receipts: 600 } as const

/** The pages where people decide, and where payment providers say that they were paid. What is only looked at is never decided. */
export function createDecisionRoutes(gateway: RequirementRouteDeps): Hono {
  const enter = createEntrance(gateway)
  const visits = createVisits(gateway)
  return new Hono()
    .use('/actions/*', limitVisits(perMinute.pages, gateway))
    .use('/payments/*', limitVisits(perMinute.receipts, gateway))
    .get('/actions/:state', context => enter(context, visits.show))
    .post('/actions/:state', context => enter(context, visits.decide))
    .get('/actions/:state/receipt', context => enter(context, visits.takeReceipt))
    .post('/payments/callback', createCallback(gateway))
}

function limitVisits(most: number, { platform }: RequirementRouteDeps): MiddlewareHandler {
  const visits = createRateLimit({ perMinute: most }, () => platform.now())
  return async function countVisit(context, next) {
    visits.take(networkOf(peerAddress(context.env)))
    await next()
  }
}

/** Whoever has no valid link learns nothing, and takes as long. */
function createEntrance({ store, digestOf }: RequirementRouteDeps) {
  return async (context: Context, visit: RequirementVisit): Promise<Response> => {
    const state = context.req.param('state') ?? ''
    const requirement = await store.findRequirement({ digest: digestOf(state) })
    if (!requirement || !statePattern.test(state)) return answerVisit(context, renderNothingPage(), 404)
    return visit(requirement, context)
  }
}

/** From server to server: the body is the receipt. */
function createCallback(gateway: RequirementRouteDeps) {
  return async (context: Context): Promise<Response> => {
    const receipt = Buffer.from(await readBody(context.req.raw, maxReceipt))
      .toString('latin1')
      .trim()
    const id = gateway.provider?.requirementOf(receipt)
    const requirement = id === undefined ? undefined : await gateway.store.findRequirement({ id })
    if (!requirement)
      throw new Rejection('no_recipient', 'Cannot take receipt: it is for no requirement of this gateway')
    const { requirement: paid, reason } = await payRequirement(requirement, receipt, gateway)
    if (reason) throw new Rejection('forbidden', `Cannot take receipt: ${describeObjection(reason)}`)
    context.header('cache-control', 'no-store')
    return context.json({ requirement: paid.id, status: paid.status })
  }
}

interface StateOptions {
  readonly store: Pick<Store, 'secret'>
  readonly origin: string
  readonly ttlMs: number
}

/**
 * States are derived from ids with a key of the gateway. So no answer, history or log that is kept holds one, while every retry of a delivery
 * shows the same.
 */
export async function openRequirementStates({ store, origin, ttlMs }: StateOptions): Promise<RequirementDeps> {
  const text = await store.secret('requirements', async () => randomBytes(32).toString('base64url'))
  const key = Buffer.from(text, 'base64url')
  return {
    origin,
    ttlMs,
    stateOf: id => createHmac('sha256', key).update(`postern requirement v1 ${id}`).digest('base64url'),
    digestOf: state => createHash('sha256').update(state).digest('hex'),
  }
}

/** What every state looks like. */
const statePattern = /^[\w-]{43}$/
