import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { TestPeer } from '../setup/peer.ts'
import { agentMessage, openAgentPeer } from '../setup/peer.ts'

let peer: TestPeer

beforeEach(async () => {
  peer = await openAgentPeer()
})
afterEach(() => peer.close())

const withinMs = 20_000
const client = { client_id: 'desk', client_secret: 's:e c', scopes: ['read', 'write'] }
const rpcs = () => peer.requests.filter(({ path }) => path === '/rpc')
const call = (credentials: object) => peer.call('hello', { peer: { withinMs, ...credentials } })

test('the peer gets the configured bearer token or API key unchanged', async () => {
  await call({ token: 'given' })
  await call({ api_key: { header: 'X-Agent-Key', key: 'k' } })
  expect(rpcs()[0]?.headers.authorization).toBe('Bearer given')
  expect(rpcs()[1]?.headers).toMatchObject({ 'x-agent-key': 'k' })
  expect(rpcs()[1]?.headers.authorization).toBeUndefined()
})

describe('client credentials (RFC 6749 §4.4)', () => {
  const flows = { clientCredentials: { tokenUrl: 'https://peer.test/token', scopes: {} } }
  const basic = `Basic ${Buffer.from('desk:s%3Ae+c').toString('base64')}`
  let tokenCount = 0

  beforeEach(() => {
    tokenCount = 0
    peer.card.securitySchemes = { oauth: { oauth2SecurityScheme: { flows } } }
    peer.pages.set('/token', () => {
      tokenCount += 1
      return { json: { access_token: `token-${tokenCount}`, token_type: 'Bearer', expires_in: 600 } }
    })
  })

  test.each([
    ['1.0', { oauth: { oauth2SecurityScheme: { flows } } }],
    ['0.3', { oauth: { type: 'oauth2', flows } }],
  ])('fetch a token once from the endpoint that the card names in the format of %s', async (_, schemes) => {
    peer.card.securitySchemes = schemes
    await call({ oauth2: client })
    await call({ oauth2: client })
    const tokenRequests = peer.requests.filter(({ path }) => path === '/token')
    expect(tokenRequests).toHaveLength(1)
    expect(tokenRequests[0]).toMatchObject({ method: 'POST', headers: { authorization: basic } })
    expect(Object.fromEntries(new URLSearchParams(tokenRequests[0]?.body))).toEqual({
      grant_type: 'client_credentials',
      scope: 'read write',
    })
    expect(rpcs().map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-1'])
  })

  test('fetch a new token when the peer refuses the old one, and shortly before it expires', async () => {
    await call({ oauth2: client })
    peer.answerRpc(({ headers }) =>
      headers.authorization === 'Bearer token-1' ? { status: 401, text: '{}' } : agentMessage({ text: 'hi' }),
    )
    await call({ oauth2: client })
    expect(tokenCount).toBe(2)
    peer.system.advance(580_000)
    await call({ oauth2: client })
    expect(tokenCount).toBe(3)
  })

  test('go in the body only if the endpoint requires that', async () => {
    peer.pages.set('/token', ({ headers, body }) =>
      headers.authorization || new URLSearchParams(body).get('client_secret') !== 's:e c'
        ? { status: 401, json: { error: 'invalid_client' } }
        : { json: { access_token: 'posted' } },
    )
    await call({ oauth2: client })
    expect(rpcs()[0]?.headers.authorization).toBe('Bearer posted')
  })

  test.each([
    [
      'the endpoint refuses the client',
      () => peer.pages.set('/token', () => ({ status: 401, json: {} })),
      'refuses the client (401)',
    ],
    ['the card names no endpoint', () => void delete peer.card.securitySchemes, 'names no token endpoint'],
  ])('fail with their reason when %s', async (_, prepare, problem) => {
    prepare()
    await expect(call({ oauth2: client })).rejects.toThrow(problem)
    expect(rpcs()).toHaveLength(0)
  })
})

describe('an unreachable peer', () => {
  // Time runs fast here, so that a busy machine needs a longer limit.
  const patient = { withinMs: 600_000 }
  test('gets another try and answers once', async () => {
    peer.system.speedUpClock(50)
    let tries = 0
    peer.answerRpc(() => {
      tries += 1
      return tries < 3 ? { status: 503, text: '{}' } : agentMessage({ text: 'back' })
    })
    expect((await call(patient)).parts).toMatchObject([{ content: 'back' }])
    expect(new Set(rpcs().map(({ body }) => body.params.message.messageId)).size).toBe(1)
  })

  test('gets no further try after a while', async () => {
    peer.system.speedUpClock(50)
    peer.answerRpc(() => ({ status: 503, text: '{}' }))
    await expect(call(patient)).rejects.toMatchObject({ name: 'Unavailable' })
    expect(rpcs().length).toBeGreaterThan(2)
  })
})
