import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { ByteBudget, Channel, IntakeStore, Listening, Log } from '@postern/core'
import { ConfigError, Rejection, Unavailable } from '@postern/core'
import { countBodyIn, networkOf, toProblem } from '@postern/http'
import type { Context, HonoRequest } from 'hono'
import { Hono } from 'hono'
import type { Result, Router } from 'hono/router'
import { RegExpRouter } from 'hono/router/reg-exp-router'
import { SmartRouter } from 'hono/router/smart-router'
import { TrieRouter } from 'hono/router/trie-router'
import type { Metrics } from '../observe/metrics.ts'
import { createRefusedAnswers } from '../observe/refused-answers.ts'
import { isOwnVisit } from '../platform/platform.ts'
import type { Limits, TrustedProxies, UnknownProxies } from './clients.ts'
import { findClientAddress } from './clients.ts'

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
  /** False: strangers are sent to other gateways. */
  readonly takesMessages: boolean
  isReady(): Promise<boolean>
}

/** More header fields than any honest peer sends. */
const maxHeaders = 100

/** Mounts every part's routes behind the cheap checks, and turns errors into answers once. */
export function createServer(parts: ServerDeps): Hono {
  const { channels, deps, limits, bodies, metrics, log, trustedProxies, unknownProxies, isReady, store, now } = parts
  const app = new Hono({ router: memoizeMatches(new SmartRouter({ routers: [new RegExpRouter(), new TrieRouter()] })) })
  const addressOf = ({ env, req }: Context) => findClientAddress(env, req.header('x-forwarded-for'), trustedProxies)
  const rememberRefused = createRefusedAnswers({ channels, store, now, addressOf })
  app.use(async function watchAnswers(context, next) {
    await next()
    if (context.res.status >= 400) await rememberRefused(context)
  })
  app.use(async function checkAtTheEndpoint(context, next) {
    if (countHeaders(context.env) > maxHeaders)
      return context.json({ title: 'Request Header Fields Too Large', status: 431 }, 431)
    const clientAddress = addressOf(context)
    unknownProxies.notice(context.env, context.req.raw.headers)
    context.env = { ...(context.env as object | undefined), clientAddress }
    if (isCounted(context.req, channels) && !isOwnVisit(context.env)) {
      if (!parts.takesMessages)
        throw new Unavailable('Cannot take message: this gateway takes none, others of its address do', {
          retryAfter: 5,
        })
      limits.takeAddress(clientAddress)
    }
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

/** Limits of the socket itself: slow and endless requests end here. */
const socketLimits = {
  requestTimeout: 60_000,
  headersTimeout: 15_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 65_000,
  maxHeaderSize: 32 * 1024,
}

/** Of an answer something has to be taken within this time, ms: what nobody reads is not held for ever. */
const stallMs = 60_000

interface ListenOptions {
  readonly host: string
  readonly port: number
  /** Default 60 s. */
  readonly stallMs?: number | undefined
  /** How fast bodies have to come. */
  readonly pace?: PaceOptions | undefined
}

/** @throws ConfigError when the address is taken or not ours */
export async function listenHttp(
  app: { fetch(request: Request, env?: object): Response | Promise<Response> },
  { host, port, stallMs: patience = stallMs, pace }: ListenOptions,
): Promise<Listening> {
  const answer = getRequestListener((request, env) => app.fetch(request, env))
  const server = createHttpServer(socketLimits, (request, response) => {
    // Who waits for an answer may wait: only one that is there has to be taken.
    response.setTimeout(patience, () => {
      if (request.socket.writableLength > 0) request.socket.destroy()
    })
    void answer(request, response)
  })
  // More is counted and refused by the app; Node would silently drop what exceeds its own count.
  server.maxHeadersCount = 0
  cutSlowBodies(server, pace)
  await new Promise<void>((resolve, reject) => {
    server.once('error', cause => reject(toListenError('listen', cause)))
    server.listen(port, host, resolve)
  })
  const bound = (server.address() as AddressInfo).port
  return {
    description: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeIdleConnections()
        setTimeout(() => server.closeAllConnections(), 5_000).unref()
      }),
  }
}

interface ListenFailure extends NodeJS.ErrnoException {
  readonly address?: string
  readonly hostname?: string
  readonly port?: number
}

/** What keeps a socket from opening as a fault of the configuration; anything else as it is. */
export function toListenError(key: string, cause: ListenFailure): Error {
  const { code, address, hostname = address, port } = cause
  if (code === undefined || hostname === undefined) return cause
  // A path has none, or a negative one.
  const isPort = port !== undefined && port >= 0
  const place = isPort ? `${hostname}:${port}` : hostname
  const name = hostname.startsWith('/') ? 'path' : 'port'
  const variable = `POSTERN_${key.replaceAll('.', '_').toUpperCase()}_${name.toUpperCase()}`
  const fix = `Free the ${name}, or set ${key}.${name} (${variable}) to another one.`
  return new ConfigError(key, `cannot listen on ${place} (${code})`, fix, { cause })
}

interface PaceOptions {
  /** ms. */
  readonly everyMs: number
  /** What has to come of a body in that time, unless its end does. */
  readonly minBytes: number
}

/** 3 KiB a second: a phone on its slowest network sends faster. */
const usualPace: PaceOptions = { everyMs: 4_000, minBytes: 12 * 1024 }

interface Pace {
  readonly response: ServerResponse
  /** Bytes of its connection at the last look; none before the first. */
  seen?: number | undefined
}

/** Cuts requests whose body comes more slowly than that, with 408. Bodies that wait for us are not slow. */
export function cutSlowBodies(server: Server, { everyMs, minBytes }: PaceOptions = usualPace): void {
  const coming = new Map<IncomingMessage, Pace>()

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!hasBody(request)) return
    coming.set(request, { response })
    const forget = () => void coming.delete(request)
    request.once('end', forget).once('close', forget)
    response.once('close', forget)
  })

  function look(): void {
    for (const [request, pace] of coming) {
      const total = request.socket.bytesRead
      const isWaitingForUs = request.readableLength > 0 || request.complete
      const isSlow = pace.seen !== undefined && total - pace.seen < minBytes
      if (!isWaitingForUs && isSlow) cut(request, pace.response)
      // While it waits nothing comes: its time begins anew once we read on.
      pace.seen = isWaitingForUs ? undefined : total
    }
  }

  const timer = setInterval(look, everyMs).unref()
  server.once('close', () => clearInterval(timer))
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function cut(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request
  if (!response.headersSent)
    socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  socket.destroySoon()
}
