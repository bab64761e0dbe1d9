import { answerWithBody, readBody } from '@postern/http'
import { createBodyBudget } from '@postern/limits'
import { Rejection } from '@postern/message'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { listenHttp } from './listen.ts'
import { createServer } from './server.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }

function refuseAddress(): void {
  throw new Rejection('rate_limited', 'Cannot take request: too many', { retryAfter: 1 })
}

const emptyBudget = createBodyBudget({ maxBytes: 1_000, refusal: 'Too much' })

/** Creates a server whose limit of requests per address is used up, unless `consumeAddress` accepts them. */
function openServerAtLimit({
  acceptsMessages = true,
  consumeAddress = refuseAddress,
  bodies = emptyBudget,
  ownRouter = new Hono(),
} = {}) {
  const answer = async ({ req, text }: Context) => text(`took ${(await readBody(req.raw, 1_000_000)).length}`)
  const routers = [ownRouter, new Hono().post('/other', answer).all('*', context => context.text('through'))]
  const mail = { descriptor: { name: 'mail' }, endpoint: { routes: new Hono().post('/mail', answer) } }
  const limits = { consumeAddress, messages: { name: 'rate limits' } }
  const metrics = { render: async () => '', close() {} }
  const deps = {
    channels: [
      mail,
      {
        descriptor: { name: 'a2a', operationPaths: /^(\/agents\/[^/]+)?\/a2a\/rest\// },
        endpoint: { routes: new Hono() },
      },
    ],
    routers,
    limits,
    bodies,
    metrics,
    log,
    trustedProxies: { isTrusted: () => false },
    unknownProxies: { checkRequest() {} },
    rehearsals: { consume: () => undefined },
    acceptsMessages,
    store: { refuse() {} },
    now: Date.now,
    isReady: async () => true,
    listMissingAgents: () => [],
  }
  return createServer(deps as unknown as Parameters<typeof createServer>[0]).app
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
])('createServer() answers %s %s with %s for an address without free requests', async (method, path, status) => {
  expect((await openServerAtLimit().request(path, { method })).status).toBe(status)
  // A gateway that accepts no messages refuses, with 503, every request that counts.
  const other = await openServerAtLimit({ acceptsMessages: false }).request(path, { method })
  expect([other.status, other.headers.get('retry-after')]).toEqual(status === 429 ? [503, '5'] : [status, null])
})

test('the server refuses bodies and is not ready only while memory cannot hold even a small body', async () => {
  const bodies = createBodyBudget({ maxBytes: 1_024 * 1_024, refusal: 'Too much' })
  const server = openServerAtLimit({ bodies, consumeAddress() {} })
  const readStatus = async () => (await server.request('/readyz')).status
  const post = async (path: string) => (await server.request(path, { method: 'POST', body: 'hello' })).status
  const channels = ['email', 'a2a', 'web', 'activitypub']
  const reservations = channels.flatMap(channel => ['a', 'b'].map(owner => bodies.forChannel(channel).reserve(owner)))
  for (const reservation of reservations.slice(0, 4)) reservation.add(224 * 1_024)
  expect([await readStatus(), await post('/mail'), await post('/other')]).toEqual([200, 200, 200])
  for (const reservation of reservations.slice(4)) reservation.add(32 * 1_024)
  expect([await readStatus(), await post('/mail'), await post('/other')]).toEqual([503, 503, 503])
  for (const reservation of reservations) reservation.release()
  expect(await readStatus()).toBe(200)
})

test('the server counts a body towards the memory share of its channel', async () => {
  const bodies = createBodyBudget({ maxBytes: 1_024 * 1_024, refusal: 'Too much' })
  const server = openServerAtLimit({ bodies, consumeAddress() {} })
  for (const owner of ['a', 'b'])
    bodies
      .forChannel('mail')
      .reserve(owner)
      .add(224 * 1_024)
  const post = async (path: string) =>
    (await server.request(path, { method: 'POST', body: 'x'.repeat(100 * 1_024) })).status
  expect([await post('/mail'), await post('/other')]).toEqual([503, 200])
})

test('a streamed body goes to the socket with later header fields, and to a route that forwards it as a stream', async () => {
  const ownRouter = new Hono()
    .use(async (context, next) => {
      await next()
      context.header('x-late', 'yes')
    })
    .get('/stream', answerWithText)
    .get('/forwarded', async context => {
      const response = await server.fetch(new Request('http://agents.test/stream'), context.env as object)
      return context.text(`forwarded: ${await response.text()}`)
    })
  const server = openServerAtLimit({ ownRouter })
  const listening = await listenHttp(server, { host: '127.0.0.1', port: 0 })
  const read = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${listening.port}${path}`)
    return [response.status, response.headers.get('x-late'), await response.text()]
  }
  expect(await read('/stream')).toEqual([200, 'yes', 'one two'])
  expect(await read('/forwarded')).toEqual([200, 'yes', 'forwarded: one two'])
  await listening.close()
})

/** Answers with a text in two pieces. */
const answerWithText = ({ env }: Context) =>
  answerWithBody(
    env,
    receiver => {
      receiver.write(Buffer.from('one '))
      setTimeout(() => {
        receiver.write(Buffer.from('two'))
        receiver.end()
      }, 10)
      return { onClose() {} }
    },
    { 'content-type': 'text/plain' },
  )
