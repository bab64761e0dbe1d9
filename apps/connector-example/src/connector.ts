// Opens the chat room: a connector that vouches for its people to agents.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import { createGuardedFetch, peerAddress, toProblem } from '@postern/http'
import { createRateLimit } from '@postern/limits'
import type { Log } from '@postern/message'
import { Hono } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { createAgentClient } from './agents/agent-client.ts'
import type { Dispatch } from './agents/dispatch.ts'
import { createDispatch } from './agents/dispatch.ts'
import type { OpenTasks } from './agents/open-tasks.ts'
import { createOpenTasks } from './agents/open-tasks.ts'
import type { ConnectorConfig } from './config.ts'
import { checkConfig } from './config.ts'
import type { ConnectorKeyRing } from './issuer/key-ring.ts'
import { callbackPath, createDocumentRoutes, openKeyRing } from './issuer/key-ring.ts'
import { createLobbyRoutes } from './pages/lobby-routes.ts'
import { pageHeaders, renderProblem } from './pages/page.ts'
import { createRoomRoutes } from './pages/room-routes.ts'
import { createOpenRequirements } from './rooms/requirements.ts'
import { createRooms } from './rooms/rooms.ts'
import { createSessions } from './rooms/session.ts'

interface ConnectorOptions {
  readonly log: Log
  /** Returns the time in ms. Absent for the clock of the machine. */
  readonly now?: (() => number) | undefined
}

export interface Connector {
  readonly app: Hono
  /** @returns the port it listens on */
  listen(): Promise<number>
  rotateKeys(): Promise<string>
  /** Resolves when no agent is being called. */
  idle(): Promise<void>
  close(): Promise<void>
}

/** Opens a chat room that vouches for its people to agents. @throws ConfigError */
export async function openConnector(
  options: ConnectorConfig,
  { log, now = Date.now }: ConnectorOptions,
): Promise<Connector> {
  const config = checkConfig(options)
  const closing = new AbortController()
  const keys = await openKeyRing(config.keyFile, now)
  const fetch = createGuardedFetch({ loopback: config.loopback, userAgent: 'postern-chat-room' })
  const system = { fetch, openStream: fetch.openStream, now, sleep, log }
  const client = createAgentClient({ config, keys, system, closing: closing.signal })
  const rooms = createRooms(config.limits, now)
  rooms.open('lobby')
  const tasks = createOpenTasks(config)
  const dispatch = createDispatch({
    config,
    keys,
    system,
    client,
    rooms,
    requirements: createOpenRequirements(),
    tasks,
  })
  const sessions = createSessions(keys.sessionSecret, now)
  const app = createPages({ config, keys, tasks, sessions, rooms, dispatch, closing: closing.signal, log, now })
  const server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000 }, getRequestListener(app.fetch))

  return {
    app,
    async listen() {
      server.listen(config.port, config.host)
      await once(server, 'listening')
      return (server.address() as AddressInfo).port
    },
    rotateKeys: keys.rotate,
    idle: dispatch.whenIdle,
    async close() {
      closing.abort()
      await dispatch.whenIdle()
      fetch.close()
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

type PageDeps = Parameters<typeof createRoomRoutes>[0] &
  Parameters<typeof createCallbackRoutes>[0] & { readonly keys: ConnectorKeyRing }

/** Creates all routes of the connector: documents of its issuer, notifications of agents, pages. */
function createPages(deps: PageDeps): Hono {
  const app = new Hono()
  app.use(async function setPageHeaders(context, next) {
    await next()
    for (const [name, value] of Object.entries(pageHeaders)) {
      if (!context.res.headers.has(name)) context.res.headers.set(name, value)
    }
  })
  app.get('/healthz', context => context.json({ status: 'ok' }))
  app.route('/', createDocumentRoutes(deps.config, deps.keys))
  app.route('/', createStaticRoutes())
  app.route('/', createCallbackRoutes(deps))
  app.route('/', createLobbyRoutes(deps))
  app.route('/', createRoomRoutes(deps))
  app.notFound(context => context.html(renderProblem('There is nothing here'), 404))
  app.onError((error, context) => {
    const { status, headers } = toProblem(error, deps.log)
    const message = status === 500 ? 'Something went wrong here' : error.message
    const retryAfter = headers.get('retry-after')
    if (retryAfter !== null) context.header('retry-after', retryAfter)
    return context.html(renderProblem(message), status as ContentfulStatusCode)
  })
  return app
}

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, signal && { signal }).catch(() => undefined)
}

const files = { 'room.js': 'text/javascript; charset=UTF-8', 'chat.css': 'text/css; charset=UTF-8' } as const

/** Creates the routes of script and style, which are read once. */
function createStaticRoutes(): Hono {
  const routes = new Hono()
  for (const [name, type] of Object.entries(files)) {
    const text = readFileSync(new URL(`./static/${name}`, import.meta.url), 'utf8')
    const headers = {
      'content-type': type,
      'cache-control': 'public, max-age=300',
      'x-content-type-options': 'nosniff',
    }
    routes.get(`/static/${name}`, context => context.body(text, 200, headers))
  }
  return routes
}

interface CallbackDeps {
  readonly tasks: OpenTasks
  readonly dispatch: Dispatch
  readonly log: Log
  now(): number
}

/**
 * Creates the route at which an agent's host reports that a task has continued, for example after a payment on another site (A2A
 * push notifications). The connector takes only the fact from the report, and fetches the content from the agent.
 */
function createCallbackRoutes({ tasks, dispatch, log, now }: CallbackDeps): Hono {
  const rate = createRateLimit({ perMinute: 600 }, now)
  return new Hono().post(callbackPath, async context => {
    rate.consume(peerAddress(context.env))
    const task = tasks.findTask(context.req.header('x-a2a-notification-token') ?? '')
    await context.req.raw.body?.cancel()
    // Every caller gets the same answer, so nobody can find out whether a task is busy or has ended.
    if (task && !task.isBusy) {
      void dispatch.refreshTask(task).catch(err => log.info({ err }, 'a task could not be read again'))
    }
    return context.body(null, 202)
  })
}
