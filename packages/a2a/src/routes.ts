import { parseJsonText } from '@postern/core'
import { matchesEtag } from '@postern/http'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { Cards } from './cards/signed-cards.ts'
import { answerStatus } from './endpoint/answers.ts'
import { MethodNotAllowed } from './format/errors.ts'
import { renderLegacyCard } from './legacy/card.ts'
import type { BindingDeps } from './operations/operation.ts'
import { createRestAnswer } from './rest/rest.ts'
import { answerRpcFault, createRpcAnswer } from './rpc/json-rpc.ts'

interface A2aRouteDeps extends BindingDeps {
  readonly cards: Cards
}

const cardSeconds = 300

/** The JSON-RPC and HTTP+JSON endpoints and the cards of all agents. */
export function createA2aRoutes(deps: A2aRouteDeps): Hono {
  const routes = new Hono()
  const answerRpc = createRpcAnswer(deps)
  const answerCard = createCardAnswer(deps)
  for (const path of ['/a2a', '/a2a/', '/agents/:agent/a2a', '/agents/:agent/a2a/']) {
    routes.post(path, answerRpc)
    routes.all(path, c => answerRpcFault(c, null, new MethodNotAllowed(['POST']), deps.gateway))
  }
  if (deps.config.versions.includes('0.3')) {
    const answerLegacyCard = createLegacyCardAnswer(deps)
    for (const path of legacyCardPaths)
      routes.get(path, c => answerLegacyCard(c).catch(error => answerStatus(c, error, deps.gateway)))
  }
  const answerRest = createRestAnswer(deps)
  for (const path of ['/a2a/rest/*', '/agents/:agent/a2a/rest/*']) routes.all(path, answerRest)
  for (const path of ['/.well-known/agent-card.json', '/agents/:agent/.well-known/agent-card.json']) {
    routes.get(path, c => answerCard(c).catch(error => answerStatus(c, error, deps.gateway)))
    routes.all(path, c => answerStatus(c, new MethodNotAllowed(['GET', 'HEAD']), deps.gateway))
  }
  return routes
}

/** Where clients before 1.0 look for a card. */
const legacyCardPaths = ['/.well-known/agent.json', '/agents/:agent/.well-known/agent.json']

function createLegacyCardAnswer({ cards }: A2aRouteDeps) {
  return async (c: Context): Promise<Response> => {
    const { text } = await cards.find(c.req.param('agent'))
    const headers = { 'cache-control': `public, max-age=${cardSeconds}`, 'content-type': 'application/json' }
    return c.body(JSON.stringify(renderLegacyCard(parseJsonText(text) as object)), 200, headers)
  }
}

/** Clients of 0.3 name no version and use the same path. So all clients that name none get a card for both (A2A §3.6.2). */
function createCardAnswer({ cards, config }: A2aRouteDeps) {
  const isLegacySpoken = config.versions.includes('0.3')
  return async (c: Context): Promise<Response> => {
    const named = c.req.header('a2a-version') || c.req.query('A2A-Version') || '0.3'
    const isMixed = isLegacySpoken && /^0\.3(\.|$)/.test(named)
    const { text, etag } = await cards.find(c.req.param('agent'), { isMixed })
    const headers = { etag, 'cache-control': `public, max-age=${cardSeconds}`, vary: 'A2A-Version' }
    if (matchesEtag(c.req.header('if-none-match'), etag)) return c.body(null, 304, headers)
    return c.body(text, 200, { ...headers, 'content-type': 'application/json' })
  }
}
