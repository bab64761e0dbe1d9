// Checks every request before its route runs: header count, client address, rate limits and the size of bodies.

import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { countBodyIn, networkOf, sendStreamedBody, toProblem } from '@postern/http'
import type { SharedBodyBudget } from '@postern/limits'
import type { Log } from '@postern/message'
import { Rejection, Unavailable } from '@postern/message'
import type { Channel, IntakeStore } from '@postern/pipeline'
import { markSelfTest } from '@postern/pipeline'
import type { Context, HonoRequest } from 'hono'
import { Hono } from 'hono'
import { RegExpRouter } from 'hono/router/reg-exp-router'
import { SmartRouter } from 'hono/router/smart-router'
import { TrieRouter } from 'hono/router/trie-router'
import type { Metrics } from '../observe/metrics.ts'
import { createRefusalRecorder, mutatingMethods } from '../observe/refusal-recorder.ts'
import { createRouteOwnerFinder, gatewayOwnerName } from '../observe/route-owners.ts'
import { isOwnVisit } from '../system/local-fetch.ts'
import type { Limits } from './clients/limits.ts'
import type { TrustedProxies } from './clients/trusted-proxies.ts'
import { findClientAddress } from './clients/trusted-proxies.ts'
import type { UnknownProxies } from './clients/unknown-proxies.ts'
import { memoizeMatches } from './memoize-matches.ts'
import type { Rehearsals } from './rehearsals.ts'
import { rehearsalField } from './rehearsals.ts'

interface ServerDeps {
  readonly channels: readonly Channel<Hono>[]
  /** The routes of the gateway itself. */
  readonly routers: readonly Hono[]
  readonly limits: Limits
  /** The budget of memory for the bodies of all requests together. */
  readonly bodies: SharedBodyBudget
  readonly metrics: Metrics
  readonly log: Log
  readonly trustedProxies: TrustedProxies
  readonly unknownProxies: Pick<UnknownProxies, 'checkRequest'>
  readonly store: Pick<IntakeStore, 'refuse'>
  readonly now: () => number
  /** Recognizes the gateway's own test requests, whose refusals are not listed. */
  readonly rehearsals: Pick<Rehearsals, 'consume'>
  /** False if only the other gateways at this address accept messages. */
  readonly acceptsMessages: boolean
  isReady(): Promise<boolean>
  /** Returns the required agents that did not start. */
  listMissingAgents(): readonly string[]
}

/** The largest number of header fields, which no honest peer exceeds. */
const maxHeaders = 100

/** Mounts the routes of channels and of the gateway behind the checks, and turns errors into answers. */
export function createServer(deps: ServerDeps): Hono {
  const { channels, routers, limits, bodies, metrics, log, trustedProxies, unknownProxies, store, now } = deps
  const { isReady, listMissingAgents } = deps
  const app = new Hono({ router: memoizeMatches(new SmartRouter({ routers: [new RegExpRouter(), new TrieRouter()] })) })
  const findAddress = ({ env, req }: Context) => findClientAddress(env, req.header('x-forwarded-for'), trustedProxies)
  const findOwner = createRouteOwnerFinder(channels)
  const recordRefusal = createRefusalRecorder({ findOwner, store, now, findAddress })
  app.use(async function recordRefusals(context, next) {
    await next()
    if (context.res.status >= 400) await recordRefusal(context)
    if (!sendStreamedBody(context.env, context.res)) return
    // Hono would otherwise copy the header fields of the answer that has been sent.
    context.res = undefined
    context.res = createSentResponse()
  })
  app.use(async function checkRequest(context, next) {
    if (countHeaders(context.env) > maxHeaders)
      return context.json({ title: 'Request Header Fields Too Large', status: 431 }, 431)
    const clientAddress = findAddress(context)
    unknownProxies.checkRequest(context.env, context.req.raw.headers)
    const rehearsalEnd = deps.rehearsals.consume(context.req.header(rehearsalField) ?? '')
    if (rehearsalEnd) markSelfTest(context.req.raw, rehearsalEnd)
    context.env = { ...(context.env as object | undefined), clientAddress, sendsBodies: !isForwarded(context.env) }
    if (countsAgainstLimit(context.req, channels) && !isOwnVisit(context.env)) {
      if (!deps.acceptsMessages)
        throw new Unavailable('Cannot take message: this gateway takes none, but others at its address do', {
          retryAfter: 5,
        })
      limits.consumeAddress(clientAddress)
    }
    if (context.req.method === 'GET') return next()
    const bodyReservation = bodies
      .forChannel(findOwner(context)?.channel ?? gatewayOwnerName)
      .reserve(networkOf(clientAddress))
    countBodyIn(context.req.raw, bodyReservation)
    try {
      return await next()
    } finally {
      bodyReservation.release()
    }
  })
  app.get('/healthz', context => context.json({ status: 'ok' }))
  app.get('/readyz', async context => {
    const agents = listMissingAgents()
    if (agents.length === 0 && !bodies.isFull() && (await isReady())) return context.json({ status: 'ready' })
    const readinessReport = { status: 'not ready', ...(agents.length > 0 && { agents }) }
    return context.json(readinessReport, 503, { 'retry-after': '5', 'cache-control': 'no-store' })
  })
  app.get('/metrics', async context =>
    context.text(await metrics.render(), 200, { 'content-type': 'text/plain; version=0.0.4' }),
  )
  for (const { endpoint } of channels) app.route('/', endpoint.routes)
  for (const router of routers) app.route('/', router)
  app.notFound(() => toProblem(new Rejection('no_recipient', 'Nothing is here')))
  app.onError(error => toProblem(error, log))
  return app
}

/**
 * Creates the response that tells Hono's server not to answer, because the socket has an answer. Once the server has replaced the global `Response`, it
 * would send the parts of an untouched one. It looks at the header fields of a response whose body was read.
 */
function createSentResponse(): Response {
  const response = new Response(null, { headers: RESPONSE_ALREADY_SENT.headers })
  void response.body
  return response
}

/** Returns true if a request counts against the limit of its address: changes and operations count, and documents are cheap. */
function countsAgainstLimit(
  { method, path }: Pick<HonoRequest, 'method' | 'path'>,
  channels: readonly Pick<Channel, 'descriptor'>[],
): boolean {
  if (mutatingMethods.has(method)) return !path.startsWith('/operator/')
  return channels.some(({ descriptor }) => descriptor.operationPaths?.test(path))
}

/** Returns true if another route of the gateway made the request and reads its answer. Only the answer of that route is for the socket. */
function isForwarded(env: unknown): boolean {
  return typeof env === 'object' && env !== null && 'sendsBodies' in env
}

function countHeaders(env: unknown): number {
  const incoming = (env as { incoming?: { rawHeaders?: readonly string[] } } | undefined)?.incoming
  return (incoming?.rawHeaders?.length ?? 0) / 2
}
