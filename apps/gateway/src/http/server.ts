import type { ByteBudget, Channel, IntakeStore, Log } from '@postern/core'
import { Rejection } from '@postern/core'
import { countBodyIn, networkOf, toProblem } from '@postern/http'
import type { Context, HonoRequest } from 'hono'
import { Hono } from 'hono'
import type { Result, Router } from 'hono/router'
import { RegExpRouter } from 'hono/router/reg-exp-router'
import { SmartRouter } from 'hono/router/smart-router'
import { TrieRouter } from 'hono/router/trie-router'
import type { TrustedProxies } from '../config/trusted-proxies.ts'
import type { Metrics } from '../observe/metrics.ts'
import { rememberRefused } from '../observe/refused-answers.ts'
import { isOwnVisit } from '../platform/platform.ts'
import { findClientAddress } from './client-address.ts'
import type { Limits } from './limits.ts'
import type { UnknownProxies } from './unknown-proxies.ts'

interface ServerDeps {
  readonly channels: readonly Channel<Hono>[]
  readonly deps: readonly Hono[]
  readonly limits: Limits
  /** What all bodies together may take. */
  readonly bodies: ByteBudget
  readonly metrics: Metrics
  readonly log: Log
  readonly trustedProxies: TrustedProxies
  readonly unknownProxies: Pick<UnknownProxies, 'notice'>
  readonly store: Pick<IntakeStore, 'refuse'>
  readonly now: () => number
  isReady(): Promise<boolean>
}

/** More header fields than any honest peer sends. */
const maxHeaders = 100

/** Mounts every part's routes behind the cheap checks, and turns errors into answers once. */
export function createServer(parts: ServerDeps): Hono {
  const { channels, deps, limits, bodies, metrics, log, trustedProxies, unknownProxies, isReady, store, now } = parts
  const app = new Hono({ router: memoizeMatches(new SmartRouter({ routers: [new RegExpRouter(), new TrieRouter()] })) })
  const addressOf = ({ env, req }: Context) => findClientAddress(env, req.header('x-forwarded-for'), trustedProxies)
  app.use(rememberRefused({ channels, store, now, addressOf }))
  app.use(async function checkAtTheEndpoint(context, next) {
    if (countHeaders(context.env) > maxHeaders)
      return context.json({ title: 'Request Header Fields Too Large', status: 431 }, 431)
    const clientAddress = addressOf(context)
    unknownProxies.notice(context.env, context.req.raw.headers)
    context.env = { ...(context.env as object | undefined), clientAddress }
    if (isCounted(context.req, channels) && !isOwnVisit(context.env)) limits.takeAddress(clientAddress)
    if (context.req.method === 'GET') return next()
    const hold = bodies.hold(networkOf(clientAddress))
    countBodyIn(context.req.raw, hold)
    return next().finally(hold.release)
  })
  app.get('/healthz', context => context.json({ status: 'ok' }))
  app.get('/readyz', async context =>
    (await isReady())
      ? context.json({ status: 'ready' })
      : context.json({ status: 'not ready' }, 503, { 'retry-after': '5', 'cache-control': 'no-store' }),
  )
  app.get('/metrics', async context =>
    context.text(await metrics.render(), 200, { 'content-type': 'text/plain; version=0.0.4' }),
  )
  for (const { routes } of channels) app.route('/', routes)
  for (const room of deps) app.route('/', room)
  app.notFound(() => toProblem(new Rejection('no_recipient', 'Nothing is here')))
  app.onError(error => toProblem(error, log))
  return app
}

/** Peers ask for the same few paths over and over; what they make up may be long, and ever new. */
const [mostMatches, longestPath] = [1_000, 200]

/** Remembers which routes a path matches: with as many patterns as ours, to find them takes longer than to read the request. */
function memoizeMatches<T>(router: Router<T>): Router<T> {
  const matches = new Map<string, Result<T>>()
  return {
    name: router.name,
    add(method, path, handler) {
      matches.clear()
      router.add(method, path, handler)
    },
    match(method, path) {
      const key = `${method} ${path}`
      const known = matches.get(key)
      if (known) return known
      const result = router.match(method, path)
      if (matches.size >= mostMatches) matches.clear()
      if (path.length <= longestPath) matches.set(key, result)
      return result
    },
  }
}

const changingMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'DELETE'])

/** What makes us work: what changes something, and operations; documents are cheap. */
function isCounted(
  { method, path }: Pick<HonoRequest, 'method' | 'path'>,
  channels: readonly Pick<Channel, 'operationPaths'>[],
): boolean {
  if (changingMethods.has(method)) return !path.startsWith('/operator/')
  return channels.some(({ operationPaths }) => operationPaths?.test(path))
}

function countHeaders(env: unknown): number {
  const incoming = (env as { incoming?: { rawHeaders?: readonly string[] } } | undefined)?.incoming
  return (incoming?.rawHeaders?.length ?? 0) / 2
}
