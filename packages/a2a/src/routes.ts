// Routes HTTP requests to the agent cards and to the JSON-RPC and HTTP+JSON endpoints.
import { createHotRoute, matchesEtag, toResponse } from '@postern/http'
import { parseJsonText } from '@postern/message'
import type { Context, MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import { cors } from 'hono/cors'
import type { Cards } from './cards/signed-cards.ts'
import type { A2aConfig } from './config.ts'
import { renderStatus } from './endpoint/answers.ts'
import { MethodNotAllowed } from './format/errors.ts'
import { renderLegacyCard } from './legacy/card.ts'
import type { BindingDeps } from './operations/operation.ts'
import { createRestAnswer } from './rest/rest.ts'
import { createRpcAnswer, renderRpcFailure } from './rpc/json-rpc.ts'

interface A2aRouteDeps extends BindingDeps {
  readonly cards: Cards
}

const cardSeconds = 300

/** Creates the JSON-RPC and HTTP+JSON endpoints and the cards of all agents. */
export function createA2aRoutes(deps: A2aRouteDeps): Hono {
  const routes = new Hono()
  if (deps.config.cors.length > 0) for (const path of browserPaths) routes.use(path, createCors(deps.config))
  const handleRpc = createHotRoute(createRpcAnswer(deps))
  const serveCard = createCardHandler(deps)
  const answerError = (error: unknown) => toResponse(renderStatus(error, deps.gateway))
  for (const path of ['/a2a', '/a2a/', '/agents/:agent/a2a', '/agents/:agent/a2a/']) {
    routes.post(path, handleRpc)
    routes.all(path, () => toResponse(renderRpcFailure(null, new MethodNotAllowed(['POST']), deps.gateway)))
  }
  if (deps.config.versions.includes('0.3')) {
    const answerLegacyCard = createLegacyCardHandler(deps)
    for (const path of legacyCardPaths) routes.get(path, c => answerLegacyCard(c).catch(answerError))
  }
  const answerRest = createHotRoute(createRestAnswer(deps))
  for (const path of ['/a2a/rest/*', '/agents/:agent/a2a/rest/*']) routes.all(path, answerRest)
  for (const path of ['/.well-known/agent-card.json', '/agents/:agent/.well-known/agent-card.json']) {
    routes.get(path, c => serveCard(c).catch(answerError))
    routes.all(path, () => answerError(new MethodNotAllowed(['GET', 'HEAD'])))
  }
  return routes
}

/** The paths of the cards and the endpoints, which pages may call. */
const browserPaths = ['/.well-known/*', '/a2a/*', '/agents/:agent/.well-known/*', '/agents/:agent/a2a/*']

/**
 * Creates the middleware for CORS. Pages of the configured origins may call (Fetch standard, CORS protocol). Credentials are headers, never
 * cookies.
 */
function createCors({ cors: origin, auth }: A2aConfig): MiddlewareHandler {
  const headerNames = ['a2a-version', 'a2a-extensions', 'x-a2a-extensions', 'last-event-id', auth.api_key_header]
  return cors({
    origin: origin === '*' ? origin : [...origin],
    allowMethods: ['GET', 'POST', 'DELETE'],
    allowHeaders: ['authorization', 'dpop', 'content-type', 'accept', 'traceparent', ...headerNames],
    exposeHeaders: ['a2a-extensions', 'x-a2a-extensions', 'retry-after', 'www-authenticate', 'dpop-nonce'],
    maxAge: 600,
  })
}

/** The paths at which clients before 1.0 look for a card. */
const legacyCardPaths = ['/.well-known/agent.json', '/agents/:agent/.well-known/agent.json']

function createLegacyCardHandler({ cards }: A2aRouteDeps) {
  return async (c: Context): Promise<Response> => {
    const { text } = await cards.find(c.req.param('agent'))
    const headers = { 'cache-control': `public, max-age=${cardSeconds}`, 'content-type': 'application/json' }
    return c.body(JSON.stringify(renderLegacyCard(parseJsonText(text) as object)), 200, headers)
  }
}

/**
 * Creates the handler that serves a card. Clients of 0.3 name no version and use the same path. All clients that name no version get a card for both
 * versions (A2A §3.6.2).
 */
function createCardHandler({ cards, config }: A2aRouteDeps) {
  const supportsLegacy = config.versions.includes('0.3')
  return async (c: Context): Promise<Response> => {
    const version = c.req.header('a2a-version') || c.req.query('A2A-Version') || '0.3'
    const isMixed = supportsLegacy && /^0\.3(\.|$)/.test(version)
    const { text, etag } = await cards.find(c.req.param('agent'), { isMixed })
    const headers = { etag, 'cache-control': `public, max-age=${cardSeconds}`, vary: 'A2A-Version' }
    if (matchesEtag(c.req.header('if-none-match'), etag)) return c.body(null, 304, headers)
    return c.body(text, 200, { ...headers, 'content-type': 'application/json' })
  }
}
