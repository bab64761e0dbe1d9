import { canonicalizeJson } from '@postern/message'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { renderAgentCard } from '../../src/cards/card.ts'
import { a2aConfigSchema } from '../../src/index.ts'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { echoAgent, openA2aGateway } from '../setup/gateway.ts'

let gateway: A2aTestGateway
const root = '/.well-known/agent-card.json'

beforeAll(async () => {
  const profiles = {
    echo: { displayName: ' Écho “der Große”\u2028山😀\n', description: '', iconUrl: 'https://agents.test/ü.png' },
  }
  gateway = await openA2aGateway({ agents: { echo: echoAgent, other: echoAgent }, profiles, runsWorker: false })
})
afterAll(() => gateway.close())

/** Finds all members of the card that one reading of the rules would drop or write differently. */
function findDroppable(value: unknown, at = ''): string[] {
  if (value === false || value === null || value === '') return [at]
  if (typeof value === 'string') return value.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value) ? [] : [at]
  if (typeof value === 'number') return Number.isSafeInteger(value) ? [] : [at]
  if (typeof value === 'object' && Object.keys(value).length === 0) return [at]
  if (typeof value !== 'object') return []
  return Object.entries(value ?? {}).flatMap(([name, member]) =>
    /^[\x20-\x7e]+$/.test(name) ? findDroppable(member, `${at}/${name}`) : [`${at}/${name}`],
  )
}

test('the card of the default agent is public and complete (A2A-A20)', async () => {
  const { status, headers, body } = await gateway.request(root, { headers: { 'a2a-version': '1.0' } })
  expect(status).toBe(200)
  expect(headers.get('vary')).toBe('A2A-Version')
  expect(headers.get('content-type')).toBe('application/json')
  expect(headers.get('cache-control')).toBe('public, max-age=300')
  expect(body).toEqual({
    name: 'Écho “der Große” 山😀',
    description: 'The agent Écho “der Große” 山😀',
    version: '1.2.3',
    supportedInterfaces: [
      { url: 'https://agents.test/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: 'https://agents.test/a2a/rest', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      { url: 'https://agents.test/a2a', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    ],
    capabilities: {
      streaming: true,
      pushNotifications: true,
      extendedAgentCard: true,
      extensions: expect.arrayContaining([
        expect.objectContaining({ uri: 'https://mentionable.dev/ns/policy/v0.1', description: expect.any(String) }),
      ]),
    },
    securitySchemes: {
      bearer: {
        httpAuthSecurityScheme: {
          scheme: 'Bearer',
          bearerFormat: 'JWT',
          description: 'JWT access token from https://issuer.test for audience https://agents.test/a2a',
        },
      },
    },
    securityRequirements: [{ schemes: { bearer: { list: expect.arrayContaining(['a2a:message.send']) } } }],
    defaultInputModes: expect.arrayContaining(['text/plain', 'application/json']),
    defaultOutputModes: expect.arrayContaining(['text/plain', 'text/markdown']),
    skills: [
      {
        id: 'conversation',
        name: 'Conversation',
        description: 'The agent Écho “der Große” 山😀',
        tags: ['conversation'],
      },
    ],
    iconUrl: 'https://agents.test/%C3%BC.png',
    signatures: [{ protected: expect.any(String), signature: expect.any(String) }],
  })
})

test('every agent has its own card with its own endpoint', async () => {
  const { body } = await gateway.request('/agents/other/.well-known/agent-card.json')
  expect(body).toMatchObject({
    name: 'other',
    supportedInterfaces: [
      { url: 'https://agents.test/agents/other/a2a' },
      { url: 'https://agents.test/agents/other/a2a/rest' },
      { url: 'https://agents.test/agents/other/a2a', protocolVersion: '0.3' },
    ],
  })
})

describe('every card reads the same by every canonicalization rule:', () => {
  test.each([root, '/agents/echo/.well-known/agent-card.json', '/agents/other/.well-known/agent-card.json'])(
    '%s',
    async path => {
      const { text } = await gateway.request(path)
      expect(findDroppable(JSON.parse((await gateway.request(`${path}?A2A-Version=1.0`)).text))).toEqual([])
      expect(findDroppable(JSON.parse(text))).toEqual([])
      const dropped = JSON.parse(text, (_, value) =>
        value === '' || value === false || (value && typeof value === 'object' && Object.keys(value).length === 0)
          ? undefined
          : value,
      )
      expect(canonicalizeJson(dropped)).toBe(canonicalizeJson(JSON.parse(text)))
    },
  )
})

describe('a caller that names no version or 0.3 gets a card for both versions:', () => {
  test.each([[{}], [{ 'a2a-version': '0.3' }], [{ 'a2a-version': '' }]])('%j', async (headers: object) => {
    const of = async (headers: object) => JSON.parse((await gateway.request(root, { headers: { ...headers } })).text)
    const { signatures: _, ...own } = await of({ 'a2a-version': '1.0' })
    const { signatures, ...mixed } = await of(headers)
    expect(mixed).toMatchObject(own)
    expect(mixed).toMatchObject({
      protocolVersion: '0.3.0',
      url: 'https://agents.test/a2a',
      preferredTransport: 'JSONRPC',
      supportsAuthenticatedExtendedCard: true,
      securitySchemes: { bearer: { type: 'http', scheme: 'Bearer', httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      security: [{ bearer: expect.arrayContaining(['a2a:message.send']) }],
    })
    expect(signatures).toHaveLength(2)
  })

  test('the card omits 0.3 if the gateway does not offer it', async () => {
    const modern = await openA2aGateway({ config: { versions: ['1.0'] }, runsWorker: false })
    expect(JSON.parse((await modern.request(root)).text)).not.toHaveProperty('url')
    await modern.close()
  })
})

test('the card names the schemes that the gateway enforces', () => {
  const agent = { name: 'echo', displayName: 'Echo', description: 'x', version: '1' }
  const issuers = [{ issuer: 'https://i.test', jwks: 'https://i.test/k', audience: 'us' }]
  const cardOf = (auth: object) =>
    renderAgentCard({ agent, endpoint: 'https://agents.test/a2a' }, a2aConfigSchema.parse({ auth }))
  expect(cardOf({})).toMatchObject({ securityRequirements: [{ schemes: { bearer: {} } }] })
  expect(cardOf({ issuers, anonymous: true })).toHaveProperty('securitySchemes')
  expect(cardOf({ issuers, anonymous: true })).not.toHaveProperty('securityRequirements')
  expect(cardOf({ anonymous: true })).not.toHaveProperty('securitySchemes')
  const api_keys = [{ name: 'ci', sha256: '0'.repeat(64) }]
  expect(cardOf({ api_keys })).toMatchObject({
    securitySchemes: { apiKey: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } } },
    securityRequirements: [{ schemes: { apiKey: {} } }],
  })
  expect(cardOf({ api_keys })).not.toHaveProperty('securitySchemes.bearer')
  const bound = [{ ...issuers[0], require_dpop: true, token_endpoint: 'https://i.test/token' }]
  expect(cardOf({ issuers: bound, scopes: { GetTask: 'read' } })).toMatchObject({
    securitySchemes: {
      dpop: { httpAuthSecurityScheme: { scheme: 'DPoP', bearerFormat: 'JWT' } },
      oauth2: {
        oauth2SecurityScheme: {
          flows: {
            clientCredentials: {
              tokenUrl: 'https://i.test/token',
              scopes: { read: 'Allows GetTask', 'a2a:message.send': 'Allows SendMessage' },
            },
          },
        },
      },
    },
    securityRequirements: [{ schemes: { dpop: {} } }, { schemes: { oauth2: {} } }],
  })
  expect(cardOf({ issuers: bound })).not.toHaveProperty('securitySchemes.bearer')
  const other = { ...issuers[0], issuer: 'https://bound.test', require_dpop: true }
  expect(cardOf({ issuers: [...issuers, other] })).toMatchObject({
    securitySchemes: {
      bearer: { httpAuthSecurityScheme: { description: 'JWT access token from https://i.test for audience us' } },
      dpop: {
        httpAuthSecurityScheme: {
          description: 'Sender-constrained JWT access token from https://bound.test for audience us',
        },
      },
    },
  })
})

test('the card lists only the active capabilities', () => {
  const agent = { name: 'echo', displayName: 'Echo', description: 'x', version: '1' }
  const cardOf = (config: object) =>
    renderAgentCard({ agent, endpoint: 'https://agents.test/a2a' }, a2aConfigSchema.parse(config))
  expect(cardOf({ capabilities: { streaming: false } })).not.toHaveProperty('capabilities.streaming')
  expect(cardOf({})).not.toHaveProperty('capabilities.extendedAgentCard')
  const auth = { api_keys: [{ name: 'ci', sha256: '0'.repeat(64) }] }
  expect(cardOf({ auth })).toHaveProperty('capabilities.extendedAgentCard', true)
  expect(cardOf({ auth, capabilities: { extended_card: false } })).not.toHaveProperty('capabilities.extendedAgentCard')
})

test('an anonymous agent’s card names no extended card, unless the operator wants one', () => {
  const agent = { name: 'echo', displayName: 'Echo', description: 'x', version: '1' }
  const auth = { anonymous: true, api_keys: [{ name: 'ci', sha256: '0'.repeat(64) }] }
  const cardOf = (config: object) =>
    renderAgentCard({ agent, endpoint: 'https://agents.test/a2a' }, a2aConfigSchema.parse({ auth, ...config }))
  expect(cardOf({})).not.toHaveProperty('capabilities.extendedAgentCard')
  const wanted = { capabilities: { extended_card: true } }
  expect(cardOf(wanted)).toHaveProperty('capabilities.extendedAgentCard', true)
})

test('a forged Host changes nothing (A2A-C01)', async () => {
  const honest = await gateway.request(root)
  const headers = {
    host: 'evil.test',
    'x-forwarded-host': 'evil.test',
    'x-forwarded-proto': 'http',
    forwarded: 'host=evil.test',
  }
  expect((await gateway.request(`https://evil.test${root}`, { headers })).text).toBe(honest.text)
})

describe('a request with If-None-Match (A2A-C03)', () => {
  test.each([
    ['current', (etag: string) => etag, 304],
    ['stale', () => '"other"', 200],
    ['*', () => '*', 304],
    ['weak', (etag: string) => `W/${etag}`, 304],
    ['one of many', (etag: string) => `"x", ${etag}`, 304],
    ['nonsense', () => 'x', 200],
  ])('%s', async (_, header, status) => {
    const etag = (await gateway.request(root)).headers.get('etag') ?? ''
    expect(etag).toMatch(/^"[\w-]+"$/)
    const answer = await gateway.request(root, { headers: { 'if-none-match': header(etag) } })
    expect(answer.status).toBe(status)
    expect(answer.headers.get('etag')).toBe(etag)
    if (status === 304) expect(answer.text).toBe('')
  })
})

test('HEAD gets the headers of GET without a body', async () => {
  const { status, headers, text } = await gateway.request(root, { method: 'HEAD' })
  expect([status, text, headers.get('etag')]).toEqual([200, '', (await gateway.request(root)).headers.get('etag')])
})
