// Serves hot routes straight from node:http. The routes are those of Hono, and so are the checks.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HotHandler, PlainAnswer } from '@postern/http'
import { describeProblem, findHotHandler, SocketRequest, sendBody } from '@postern/http'
import type { Log } from '@postern/message'
import type { Hono } from 'hono'
import type { RouterRoute } from 'hono/types'
import { findTargetHandler } from 'hono/utils/handler'
import type { RefusedRequest } from '../observe/refusal-recorder.ts'
import { isProblemType } from '../observe/refusal-recorder.ts'
import type { FindRouteOwner } from '../observe/route-owners.ts'
import { gatewayOwnerName } from '../observe/route-owners.ts'
import type { CheckRequest } from './request-checks.ts'

/** Answers a request and returns true, or returns false if Hono has to serve the request. */
export type ServeHot = (incoming: IncomingMessage, outgoing: ServerResponse) => boolean

interface HotServerDeps {
  /** The largest number of header fields. */
  readonly maxHeaders: number
  /** The number of middlewares that come before every route, and whose duties `check` and `recordRefusal` have here. */
  readonly checkCount: number
  readonly check: CheckRequest
  /** Returns the network address of the client. `env` holds the server's own objects for the request. */
  findAddress(env: unknown, forwardedFor: string | undefined): string
  readonly findOwner: FindRouteOwner
  recordRefusal(answered: RefusedRequest): Promise<void>
  readonly log: Log
}

interface HotTarget {
  readonly handle: HotHandler
  readonly agent: string | undefined
  readonly path: string
  readonly routes: readonly RouterRoute[]
}

/** A path that the URL standard does not change: no percent-encoding, dot segment, empty segment or query. */
const plainPath = /^(?:\/[\w:~-][\w.:~-]*)+\/?$/
/** A host that the URL standard does not change, without a port or with one of four or more digits. */
const plainHost = /^[a-z0-9._-]+(?::(?:[1-5]\d{3,4}|[6-9]\d{3}))?$/

/** Creates the server of an application's hot routes. A route that has other middleware before it, such as CORS, stays with Hono. */
export function createHotServer(app: Hono, deps: HotServerDeps): ServeHot {
  const { maxHeaders, checkCount, log } = deps
  function isPlain({ method, headers, rawHeaders }: IncomingMessage, path: string): boolean {
    return (
      method === 'POST' &&
      plainPath.test(path) &&
      plainHost.test(headers.host ?? '') &&
      rawHeaders.length <= 2 * maxHeaders
    )
  }

  function findTarget(path: string): HotTarget | undefined {
    const [matches, pathParts] = app.router.match('POST', path)
    const match = matches[checkCount]
    const handle = match && findHotHandler(findTargetHandler(match[0][0]))
    if (!handle) return undefined
    const agentKey = match[1].agent
    const agent = typeof agentKey === 'number' ? pathParts?.[agentKey] : agentKey
    return { handle, agent, path, routes: matches.map(([[, route]]) => route) }
  }

  return (incoming, outgoing) => {
    const path = incoming.url ?? ''
    const target = isPlain(incoming, path) ? findTarget(path) : undefined
    if (!target) return false
    answerHot(new SocketRequest(incoming), { target, outgoing, deps }).catch(error => {
      log.error({ err: error }, 'request failed')
      outgoing.destroy()
    })
    return true
  }
}

interface HotAnswering {
  readonly target: HotTarget
  readonly outgoing: ServerResponse
  readonly deps: HotServerDeps
}

async function answerHot(request: SocketRequest, { target, outgoing, deps }: HotAnswering): Promise<void> {
  const { handle, agent, path, routes } = target
  const { check, findAddress, findOwner, recordRefusal, log } = deps
  const { incoming } = request
  const env = { incoming }
  const from = findAddress(env, request.headers.get('x-forwarded-for') ?? undefined)
  let answer: PlainAnswer
  let failure: unknown
  try {
    request.hold = check({ request, env, from, path, owner: findOwner(routes)?.channel ?? gatewayOwnerName })
    answer = await handle({ request, from, path, agent, queries: hasNoQuery })
  } catch (error) {
    failure = error
    answer = describeProblem(error, log)
  } finally {
    request.hold?.release()
  }
  const { status, headers, body } = answer
  if (status >= 400) {
    const problem = typeof body === 'string' && isProblemType(headers['content-type']) ? body : undefined
    const readProblem = () => problem
    await recordRefusal({ request, method: request.method, path, routes, from, status, error: failure, readProblem })
  }
  sendAnswer(outgoing, answer)
  if (!incoming.readableEnded) discardBody(incoming)
}

const hasNoQuery = () => undefined

function sendAnswer(outgoing: ServerResponse, { status, headers, body }: PlainAnswer): void {
  if (typeof body === 'function') sendBody(outgoing, body, headers)
  else if (!outgoing.destroyed) {
    outgoing.writeHead(status, body === null ? headers : { ...headers, 'content-length': Buffer.byteLength(body) })
    outgoing.end(body)
  }
}

/** The time that the rest of a refused body has to arrive, so that its connection can take another request, ms. */
const discardMs = 500

function discardBody(incoming: IncomingMessage): void {
  incoming.resume()
  if (incoming.complete) return
  const timer = setTimeout(() => incoming.socket.destroySoon(), discardMs)
  incoming.once('close', () => clearTimeout(timer))
}
