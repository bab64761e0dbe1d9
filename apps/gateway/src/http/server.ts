import { BlockList, isIP } from 'node:net'
import type { ByteBudget, Channel, IntakeStore, Log, Refusal, RefusalCode } from '@postern/core'
import { hasRefusal, isoTime, parseIfJson, Rejection, rejectionCodes } from '@postern/core'
import { countBodyIn, isPublicAddress, networkOf, peerAddress, toProblem } from '@postern/http'
import type { Context, HonoRequest, MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import { matchedRoutes } from 'hono/route'
import type { Result, Router } from 'hono/router'
import { RegExpRouter } from 'hono/router/reg-exp-router'
import { SmartRouter } from 'hono/router/smart-router'
import { TrieRouter } from 'hono/router/trie-router'
import type { Config } from '../config/schema.ts'
import { isLoopbackHost } from '../config/trusted-proxies.ts'
import type { Metrics } from '../observe/metrics.ts'
import { isOwnVisit } from '../platform/platform.ts'
import type { Limits } from './limits.ts'

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

interface TrustedProxies {
  isTrusted(address: string): boolean
}

/** Nobody far away reaches a loopback socket but through a program of this machine. */
const loopbackNetworks = ['127.0.0.0/8', '::1']

/** The proxies that the file names; where it names none and the gateway listens on loopback, those of this machine. */
export function createTrustedProxies({ listen, network }: Pick<Config, 'listen' | 'network'>): TrustedProxies {
  const networks = network.trusted_proxies ?? (isLoopbackHost(listen.host) ? loopbackNetworks : [])
  const list = new BlockList()
  for (const each of networks) addNetwork(list, each)
  return { isTrusted: address => isIP(address) !== 0 && list.check(address, familyOf(address)) }
}

function addNetwork(list: BlockList, network: string): void {
  const [address = '', prefix] = network.split('/')
  if (prefix === undefined) list.addAddress(address, familyOf(address))
  else list.addSubnet(address, Number(prefix), familyOf(address))
}

/** Of what is an address: the expression with which Node finds out takes longer to compile than the rest of a start's configuration. */
function familyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4'
}

/** Who is really connected: the last hop of `X-Forwarded-For`, read from the right, that is not a trusted proxy. */
export function findClientAddress(
  env: unknown,
  forwardedFor: string | undefined,
  { isTrusted }: TrustedProxies,
): string {
  let address = peerAddress(env)
  const hops = forwardedFor?.split(',') ?? []
  while (isTrusted(address)) {
    const before = parseHop(hops.pop() ?? '')
    if (before === undefined) break
    address = before
  }
  return address
}

/** Some proxies add the port. Undefined for what is no address: nobody vouches for what stands further left. */
function parseHop(hop: string): string | undefined {
  const text = hop.trim()
  const bare = text.replace(/^\[([^\]]*)\](?::\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  const address = bare.replace(/^::ffff:(?=\d+\.)/i, '')
  return isIP(address) ? address : undefined
}

export interface UnknownProxies {
  /** Looks at one request. */
  notice(env: unknown, headers: Headers): void
  /** Addresses, the oldest first. */
  list(): readonly string[]
}

export const untrustedProxyFix =
  'All its clients share one rate limit. If it is your proxy, add its address to network.trusted_proxies.'

/** More are not worth a warning each. */
const mostKnown = 16

/** Private peers that pass forwarded requests on and are not trusted: most likely the operator's own proxy. */
export function createUnknownProxies({ isTrusted }: TrustedProxies, log: Log): UnknownProxies {
  const known = new Set<string>()

  function notice(env: unknown, headers: Headers): void {
    if (known.size >= mostKnown || !(headers.has('x-forwarded-for') || headers.has('forwarded'))) return
    const proxy = peerAddress(env)
    if (proxy === '' || known.has(proxy) || isTrusted(proxy) || isPublicAddress(proxy)) return
    known.add(proxy)
    log.warn({ proxy }, `a proxy that is not trusted passes requests on: ${untrustedProxyFix}`)
  }

  return { notice, list: () => [...known] }
}

interface RefusedAnswersDeps {
  readonly channels: readonly Pick<Channel<Hono>, 'descriptor' | 'routes'>[]
  readonly store: Pick<IntakeStore, 'refuse'>
  readonly now: () => number
  addressOf(context: Context): string
}

/** What is no channel's: pages, discovery, files, the operator's API. */
const gatewayPlace = 'gateway'
/** Asked every few seconds by what watches the gateway: what it says stands elsewhere. */
const watched: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

/** Goes on to a channel, which answers and is remembered. */
const forwarded = '/operator/chat/'

/**
 * Remembers every request to a channel that was refused, and every one that failed for no fault of the peer's, wherever it went: those the
 * channels have remembered themselves, with more about them, are left out.
 */
function rememberRefused({ channels, store, now, addressOf }: RefusedAnswersDeps): MiddlewareHandler {
  const owners = new Map(
    channels.flatMap(({ descriptor, routes }) => routes.routes.map(({ path }) => [path, descriptor.name] as const)),
  )
  return async function rememberAnswer(context, next) {
    await next()
    const { status } = context.res
    if (status < 400 || hasRefusal(context.req.raw)) return
    const { method } = context.req
    const matched = matchedRoutes(context)
    const found = matched.findLast(({ path }) => owners.has(path))
    const via = found && owners.get(found.path)
    if (!(isOurFault(status) || (via !== undefined && isWriting(method, status)))) return
    const path = found?.path ?? matched.find(each => each.method !== 'ALL')?.path ?? '*'
    if (watched.has(path) || path.startsWith(forwarded)) return
    const place = { via: via ?? gatewayPlace, endpoint: `${method} ${path}`, agent: findAgent(path, context.req.path) }
    const told = await readProblem(context.res)
    store.refuse({ at: isoTime(now()), from: addressOf(context), status, ...place, ...told })
  }
}

const writing: ReadonlySet<string> = new Set(['POST', 'PUT', 'DELETE'])

/** Documents that are not there are asked for all day. */
function isWriting(method: string, status: number): boolean {
  return writing.has(method) && status !== 405
}

function isOurFault(status: number): boolean {
  return status >= 500 || status === 451
}

/** The agent that stands in an address. */
function findAgent(pattern: string, path: string): string | undefined {
  const at = pattern.split('/').indexOf(':agent')
  const name = at < 0 ? undefined : path.split('/')[at]
  return name?.toLowerCase()
}

const known: ReadonlySet<unknown> = new Set(rejectionCodes)
const codes: Readonly<Record<number, RefusalCode>> = {
  401: 'unsigned',
  403: 'forbidden',
  404: 'no_recipient',
  413: 'too_large',
  415: 'unsupported',
  429: 'rate_limited',
  451: 'unavailable',
  503: 'unavailable',
}

async function readProblem(answer: Response): Promise<Pick<Refusal, 'code' | 'reason'>> {
  const { status } = answer
  const isProblem = answer.headers.get('content-type')?.startsWith('application/problem+json') === true
  const problem = isProblem ? parseIfJson(await answer.clone().text()) : undefined
  const { code, detail, title } = (problem ?? {}) as Readonly<Record<string, unknown>>
  const fault = status === 500 ? 'a fault of the gateway: its log has it' : undefined
  const fallback = codes[status] ?? (status >= 500 ? 'internal' : 'malformed')
  const reason = [detail, fault, title].find(text => typeof text === 'string') ?? `answered ${status}`
  return { code: known.has(code) ? (code as RefusalCode) : fallback, reason: String(reason) }
}
