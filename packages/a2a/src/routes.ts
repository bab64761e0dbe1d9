import type { ChannelContext } from '@postern/core'
import { parseJsonText } from '@postern/core'
import { matchesEtag, peerAddress, sseHeaders, toSseJson } from '@postern/http'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { Headers } from './answer-fault.ts'
import { faultHeaders, jsonHeaders, openFault, refuseMethod, renderStatus } from './answer-fault.ts'
import type { Cards } from './cards.ts'
import type { EndpointDeps, EnteredCall, IncomingCall } from './endpoint.ts'
import { enterRpc, extensionHeaders } from './endpoint.ts'
import type { LargeAnswers } from './large-answers.ts'
import { renderLegacyCard } from './legacy/card.ts'
import { writeLegacyEvent, writeLegacyResult } from './legacy/write-results.ts'
import type { Operations } from './operations/operation.ts'
import { findOperation } from './operations/operation.ts'
import type { OperationName } from './operations/operation-names.ts'
import { listenerKeyOf } from './operations/subscribe-to-task.ts'
import { createRestAnswer } from './rest/answer-rest.ts'
import { renderRpcError, renderRpcResult } from './rpc.ts'
import { EventStream } from './streams/event.ts'
import type { EventWriter, SseFormat } from './streams/sse.ts'
import { createEventWriter, renderSse, writePlainEvent } from './streams/sse.ts'
import type { ProtocolVersion } from './version.ts'

export interface RouteDeps extends EndpointDeps {
  readonly operations: Operations
  readonly cards: Cards
  readonly largeAnswers: LargeAnswers
}

const cardSeconds = 300

/** The JSON-RPC and HTTP+JSON endpoints and the cards of all agents. */
export function createRoutes(deps: RouteDeps): Hono {
  const routes = new Hono()
  const answerRpc = createRpcAnswer(deps)
  const answerCard = createCardAnswer(deps)
  for (const path of ['/a2a', '/a2a/', '/agents/:agent/a2a', '/agents/:agent/a2a/']) {
    routes.post(path, answerRpc)
    routes.all(path, c => answerRpcFault(c, null, refuseMethod('POST'), deps.gateway, { allow: 'POST' }))
  }
  if (deps.config.versions.includes('0.3')) {
    const answerLegacyCard = createLegacyCardAnswer(deps)
    for (const path of legacyCardPaths) routes.get(path, answerLegacyCard)
  }
  const answerRest = createRestAnswer(deps)
  for (const path of ['/a2a/rest/*', '/agents/:agent/a2a/rest/*']) routes.all(path, answerRest)
  for (const path of ['/.well-known/agent-card.json', '/agents/:agent/.well-known/agent-card.json']) {
    routes.get(path, answerCard)
    routes.all(path, c => answerStatus(c, refuseMethod('GET, HEAD'), deps.gateway, { allow: 'GET, HEAD' }))
  }
  return routes
}

function createRpcAnswer(deps: RouteDeps) {
  return async (c: Context): Promise<Response> => {
    const incoming: IncomingCall = {
      request: c.req.raw,
      agent: c.req.param('agent'),
      versionQuery: c.req.queries('A2A-Version')?.join(),
      from: peerAddress(c.env),
      id: null,
    }
    try {
      const entered = await enterRpc(incoming, deps)
      const result = await findOperation(entered.name, deps.operations)(entered.call)
      if (result instanceof EventStream) {
        const format = formatFor(incoming.id, entered, deps.gateway)
        return c.body(renderSse(result, format), 200, { ...headersFor(entered), ...sseHeaders })
      }
      const text = JSON.stringify(renderRpcResult(incoming.id, inVersionOf(entered, result)))
      const { body, headers } = deps.largeAnswers.open(text, listenerKeyOf(entered.call))
      return c.body(body, 200, { ...headersFor(entered), ...headers })
    } catch (error) {
      return answerRpcFault(c, incoming.id, error, deps.gateway)
    }
  }
}

const eventWriters: Readonly<Record<ProtocolVersion, EventWriter>> = {
  '1.0': writePlainEvent,
  '0.3': createEventWriter(writeLegacyEvent),
}

/** Each event is a whole response of JSON-RPC (A2A §9.4.2). */
function formatFor(id: IncomingCall['id'], { call, version }: EnteredCall, gateway: ChannelContext): SseFormat {
  return {
    writeEvent: eventWriters[version],
    frame: [`{"jsonrpc":"2.0","id":${toSseJson(id)},"result":`, '}'],
    formatError: error => toSseJson(renderRpcError(id, openFault(error, gateway))),
    withIds: call.canReplay,
  }
}

function inVersionOf({ version, name }: EnteredCall, result: object): unknown {
  return version === '0.3' ? writeLegacyResult(name as OperationName, result) : result
}

function headersFor({ extensions, version }: EnteredCall): Record<string, string> {
  return extensions.length > 0 ? { ...jsonHeaders, [extensionHeaders[version]]: extensions.join(', ') } : jsonHeaders
}

function answerRpcFault(
  c: Context,
  id: IncomingCall['id'],
  error: unknown,
  gateway: ChannelContext,
  extra: Headers = {},
): Response {
  const fault = openFault(error, gateway)
  const { isTransport, http } = fault.row
  const headers = { ...jsonHeaders, ...faultHeaders(fault), ...extra }
  return c.body(JSON.stringify(renderRpcError(id, fault)), (isTransport ? http : 200) as ContentfulStatusCode, headers)
}

function answerStatus(c: Context, error: unknown, gateway: ChannelContext, extra: Headers = {}): Response {
  const fault = openFault(error, gateway)
  const headers = { ...jsonHeaders, ...faultHeaders(fault), ...extra }
  return c.body(JSON.stringify(renderStatus(fault)), fault.row.http as ContentfulStatusCode, headers)
}

/** Where clients before 1.0 look for a card. */
const legacyCardPaths = ['/.well-known/agent.json', '/agents/:agent/.well-known/agent.json']

function createLegacyCardAnswer({ cards, gateway }: RouteDeps) {
  return async (c: Context): Promise<Response> => {
    try {
      const { text } = await cards.find(c.req.param('agent'))
      const headers = { 'cache-control': `public, max-age=${cardSeconds}`, 'content-type': 'application/json' }
      return c.body(JSON.stringify(renderLegacyCard(parseJsonText(text) as object)), 200, headers)
    } catch (error) {
      return answerStatus(c, error, gateway)
    }
  }
}

/** Clients of 0.3 say no version and look at the same path: they, and all who do not say, get a card of both (A2A §3.6.2). */
function createCardAnswer({ cards, gateway, config }: RouteDeps) {
  const isLegacySpoken = config.versions.includes('0.3')
  return async (c: Context): Promise<Response> => {
    try {
      const named = c.req.header('a2a-version') || c.req.query('A2A-Version') || '0.3'
      const isMixed = isLegacySpoken && /^0\.3(\.|$)/.test(named)
      const { text, etag } = await cards.find(c.req.param('agent'), { isMixed })
      const headers = { etag, 'cache-control': `public, max-age=${cardSeconds}`, vary: 'A2A-Version' }
      if (matchesEtag(c.req.header('if-none-match'), etag)) return c.body(null, 304, headers)
      return c.body(text, 200, { ...headers, 'content-type': 'application/json' })
    } catch (error) {
      return answerStatus(c, error, gateway)
    }
  }
}
