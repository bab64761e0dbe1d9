// Checks every request before its route runs, records refusals, and mounts all routes.

import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { countBodyIn, sendStreamedBody, toProblem } from '@postern/http'
import type { Log } from '@postern/message'
import { Rejection } from '@postern/message'
import type { Channel, IntakeStore } from '@postern/pipeline'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { matchedRoutes } from 'hono/route'
import { RegExpRouter } from 'hono/router/reg-exp-router'
import { SmartRouter } from 'hono/router/smart-router'
import { TrieRouter } from 'hono/router/trie-router'
import type { Metrics } from '../observe/metrics.ts'
import type { RefusedRequest } from '../observe/refusal-recorder.ts'
import { createRefusalRecorder, isProblemType } from '../observe/refusal-recorder.ts'
import { createRouteOwnerFinder, gatewayOwnerName } from '../observe/route-owners.ts'
import type { TrustedProxies } from './clients/trusted-proxies.ts'
import { findClientAddress } from './clients/trusted-proxies.ts'
import { createHotServer } from './hot-server.ts'
import type { ServedRoutes } from './listen.ts'
import { memoizeMatches } from './memoize-matches.ts'
import type { RequestCheckDeps } from './request-checks.ts'
import { createRequestChecks } from './request-checks.ts'

interface ServerDeps extends RequestCheckDeps {
  readonly trustedProxies: TrustedProxies
  readonly channels: readonly Channel<Hono>[]
  /** The routes of the gateway itself. */
  readonly routers: readonly Hono[]
  readonly metrics: Metrics
  readonly log: Log
  readonly store: Pick<IntakeStore, 'refuse'>
  readonly now: () => number
  isReady(): Promise<boolean>
  /** Returns the required agents that did not start. */
  listMissingAgents(): readonly string[]
}

/** The application of a gateway, and its routes for a socket. */
export interface HttpServer {
  readonly app: Hono
  readonly routes: ServedRoutes
}

type FindAddress = (env: unknown, forwardedFor: string | undefined) => string

/** The number of middlewares that come before every route. Hot routes have the same duties without them. */
const checkCount = 2

/** The largest number of header fields, which no honest peer exceeds. */
const maxHeaders = 100

/** Mounts the routes of channels and of the gateway behind the checks, and turns errors into answers. */
export function createServer(deps: ServerDeps): HttpServer {
  const { channels, routers, bodies, metrics, log, trustedProxies, store, now } = deps
  const { isReady, listMissingAgents } = deps
  const app = new Hono({ router: memoizeMatches(new SmartRouter({ routers: [new RegExpRouter(), new TrieRouter()] })) })
  const check = createRequestChecks(deps)
  const findOwner = createRouteOwnerFinder(channels)
  const recordRefusal = createRefusalRecorder({ findOwner, store, now })
  const findAddress: FindAddress = (env, forwardedFor) => findClientAddress(env, forwardedFor, trustedProxies)
  app.use(async function recordRefusals(context, next) {
    await next()
    if (context.res.status >= 400) await recordRefusal(describeAnswered(context, findAddress))
    if (!sendStreamedBody(context.env, context.res)) return
    // Hono would otherwise copy the header fields of the answer that has been sent.
    context.res = undefined
    context.res = createSentResponse()
  })
  app.use(async function checkRequest(context, next) {
    if (countHeaders(context.env) > maxHeaders)
      return context.json({ title: 'Request Header Fields Too Large', status: 431 }, 431)
    const { req, env } = context
    const owner = findOwner(matchedRoutes(context))?.channel ?? gatewayOwnerName
    const from = findAddress(env, req.header('x-forwarded-for'))
    const hold = check({ request: req.raw, env, from, path: req.path, owner })
    context.env = { ...(env as object | undefined), clientAddress: from, sendsBodies: !isForwarded(env) }
    if (!hold) return next()
    countBodyIn(req.raw, hold)
    try {
      return await next()
    } finally {
      hold.release()
    }
  })
  const serveHot = createHotServer(app, { maxHeaders, checkCount, check, findAddress, findOwner, recordRefusal, log })
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
  return { app, routes: { fetch: app.fetch, serveHot } }
}

function describeAnswered(context: Context, findAddress: FindAddress): RefusedRequest {
  const { req, res, env, error } = context
  return {
    request: req.raw,
    method: req.method,
    path: req.path,
    routes: matchedRoutes(context),
    from: findAddress(env, req.header('x-forwarded-for')),
    status: res.status,
    error,
    readProblem: () => (isProblemType(res.headers.get('content-type')) ? res.clone().text() : undefined),
  }
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

/** Returns true if another route of the gateway made the request and reads its answer. Only the answer of that route is for the socket. */
function isForwarded(env: unknown): boolean {
  return typeof env === 'object' && env !== null && 'sendsBodies' in env
}

function countHeaders(env: unknown): number {
  const incoming = (env as { incoming?: { rawHeaders?: readonly string[] } } | undefined)?.incoming
  return (incoming?.rawHeaders?.length ?? 0) / 2
}
