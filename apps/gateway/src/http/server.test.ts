import { Rejection } from '@postern/core'
import { createByteBudget } from '@postern/limits'
import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { createServer } from './server.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }

/** A server whose limit of requests per address is used up. */
function openFullServer({ takesMessages = true } = {}) {
  const takeAddress = () => {
    throw new Rejection('rate_limited', 'Cannot take request: too many', { retryAfter: 1 })
  }
  const deps = [new Hono().all('*', context => context.text('through'))]
  const limits = { takeAddress, messages: { name: 'rate limits' } }
  const metrics = { render: async () => '', close() {} }
  const parts = {
    channels: [{ routes: new Hono(), operationPaths: /^(\/agents\/[^/]+)?\/a2a\/rest\// }],
    deps,
    limits,
    bodies: createByteBudget({ total: 1_000, refusal: 'Too much' }),
    metrics,
    log,
    trustedProxies: { isTrusted: () => false },
    unknownProxies: { notice() {} },
    takesMessages,
    store: { refuse() {} },
    now: Date.now,
    isReady: async () => true,
  }
  return createServer(parts as unknown as Parameters<typeof createServer>[0])
}

test.each([
  ['POST', '/a2a', 429],
  ['POST', '/inbox', 429],
  ['GET', '/a2a/rest/tasks', 429],
  ['GET', '/a2a/rest/tasks/1:subscribe', 429],
  ['DELETE', '/agents/echo/a2a/rest/tasks/1/pushNotificationConfigs/2', 429],
  ['GET', '/agents/%65cho/a2a/rest/tasks', 429],
  ['PUT', '/v1/sessions/one', 429],
  ['DELETE', '/v1/store/here', 429],
  ['GET', '/.well-known/agent-card.json', 200],
  ['GET', '/agents/echo', 200],
  ['POST', '/operator/api/messages', 200],
])('createServer() counts %s %s or not: %s', async (method, path, status) => {
  expect((await openFullServer().request(path, { method })).status).toBe(status)
  // Where this gateway takes no messages, whatever counts is sent elsewhere.
  const other = await openFullServer({ takesMessages: false }).request(path, { method })
  expect([other.status, other.headers.get('retry-after')]).toEqual(status === 429 ? [503, '5'] : [status, null])
})
