import type { House } from '@postern/core'
import { matchesEtag, peerAddress } from '@postern/http'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { ServedCard } from './card.ts'
import { serveCard } from './card.ts'
import type { DoorRooms, Knock, RpcCall } from './door.ts'
import { enterRpc, findAddressee } from './door.ts'
import type { Fault } from './errors.ts'
import { A2aRejection, toErrorDetails, toFault } from './errors.ts'
import type { Operation } from './operations/operation.ts'
import { renderRpcError, renderRpcResult } from './rpc.ts'

export interface RouteRooms extends DoorRooms {
  readonly operations: ReadonlyMap<string, Operation>
}

const jsonHeaders = { 'content-type': 'application/json', 'cache-control': 'no-store' }
const cardSeconds = 300

/** The JSON-RPC endpoints and the cards of all agents (`interface.md`, routes). */
export function createRoutes(rooms: RouteRooms): Hono {
  const routes = new Hono()
  const answerRpc = createRpcAnswer(rooms)
  const answerCard = createCardAnswer(rooms)
  for (const path of ['/a2a', '/a2a/', '/agents/:agent/a2a', '/agents/:agent/a2a/']) {
    routes.post(path, answerRpc)
    routes.all(path, c => answerRpcFault(c, null, refuseMethod('POST'), rooms.house, { allow: 'POST' }))
  }
  for (const path of ['/.well-known/agent-card.json', '/agents/:agent/.well-known/agent-card.json']) {
    routes.get(path, answerCard)
    routes.all(path, c => answerStatus(c, refuseMethod('GET, HEAD'), rooms.house, { allow: 'GET, HEAD' }))
  }
  return routes
}

function createRpcAnswer(rooms: RouteRooms) {
  return async (c: Context): Promise<Response> => {
    const knock: Knock = {
      request: c.req.raw,
      agent: c.req.param('agent'),
      versionQuery: c.req.query('A2A-Version'),
      from: peerAddress(c.env),
      id: null,
    }
    try {
      const entered = await enterRpc(knock, rooms)
      const result = await findOperation(entered, rooms)(entered.call)
      return c.body(JSON.stringify(renderRpcResult(knock.id, result)), 200, headersFor(entered))
    } catch (error) {
      return answerRpcFault(c, knock.id, error, rooms.house)
    }
  }
}

function findOperation({ method }: RpcCall, { operations }: RouteRooms): Operation {
  const operation = operations.get(method)
  if (!operation) throw new A2aRejection('methodNotFound', 'Cannot take request: there is no such method')
  return operation
}

function headersFor({ extensions }: RpcCall): Record<string, string> {
  return extensions.length > 0 ? { ...jsonHeaders, 'a2a-extensions': extensions.join(', ') } : jsonHeaders
}

type Headers = Readonly<Record<string, string>>

function answerRpcFault(c: Context, id: Knock['id'], error: unknown, house: House, extra: Headers = {}): Response {
  const fault = openFault(error, house)
  const { isTransport, http } = fault.row
  const headers = { ...jsonHeaders, ...faultHeaders(fault, house), ...extra }
  return c.body(JSON.stringify(renderRpcError(id, fault)), (isTransport ? http : 200) as ContentfulStatusCode, headers)
}

/** As the HTTP+JSON binding tells errors (A2A §11.6), for what lies outside JSON-RPC. */
function answerStatus(c: Context, error: unknown, house: House, extra: Headers = {}): Response {
  const fault = openFault(error, house)
  const { http, grpc } = fault.row
  const body = { error: { code: http, status: grpc, message: fault.message, details: toErrorDetails(fault) } }
  const headers = { ...jsonHeaders, ...faultHeaders(fault, house), ...extra }
  return c.body(JSON.stringify(body), http as ContentfulStatusCode, headers)
}

function openFault(error: unknown, { world }: House): Fault {
  const fault = toFault(error)
  if (fault.row.http === 500) world.log.error({ err: error, via: 'a2a' }, 'request failed')
  if (fault.row.http === 503) world.log.warn({ err: error, via: 'a2a' }, 'request answered as unavailable')
  return fault
}

function faultHeaders({ row: { http }, isCredentialBad, retryAfter }: Fault, { agents }: House): Headers {
  const challenge = `Bearer realm="${agents.domain}"`
  return {
    ...(http === 401 && { 'www-authenticate': isCredentialBad ? `${challenge}, error="invalid_token"` : challenge }),
    ...(retryAfter !== undefined && { 'retry-after': String(Math.max(1, Math.ceil(retryAfter))) }),
    // What is left of the body is not worth reading.
    ...(http === 413 && { connection: 'close' }),
  }
}

function refuseMethod(allowed: string): A2aRejection {
  return new A2aRejection('methodNotAllowed', `Cannot take request: only ${allowed} is answered here`)
}

function createCardAnswer({ config, house }: RouteRooms) {
  const served = new Map<string, { readonly agent: object; readonly card: ServedCard }>()

  function findCard(name: string | undefined): ServedCard {
    const agent = findAddressee(name, house)
    const endpoint =
      name === undefined ? `${house.agents.origin}/a2a` : `${house.agents.origin}/agents/${agent.name}/a2a`
    const known = served.get(endpoint)
    if (known?.agent === agent) return known.card
    const card = serveCard({ agent, endpoint }, config)
    served.set(endpoint, { agent, card })
    return card
  }

  return (c: Context): Response => {
    try {
      const { text, etag } = findCard(c.req.param('agent'))
      const headers = { etag, 'cache-control': `public, max-age=${cardSeconds}` }
      if (matchesEtag(c.req.header('if-none-match'), etag)) return c.body(null, 304, headers)
      return c.body(text, 200, { ...headers, 'content-type': 'application/json' })
    } catch (error) {
      return answerStatus(c, error, house)
    }
  }
}
