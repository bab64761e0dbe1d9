import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { echoAgent, openA2aGateway } from '../setup/gateway.ts'

const extension = 'https://shop.example/ext/orders/v1'
const required = 'https://shop.example/ext/terms/v1'
const skill = {
  id: 'orders',
  name: 'Orders',
  description: 'Takes orders',
  tags: ['shop'],
  examples: ['Two teas'],
  inputModes: ['application/json'],
}

let gateway: A2aTestGateway

beforeAll(async () => {
  gateway = await openA2aGateway({
    agents: { echo: echoAgent, shop: echoAgent },
    profiles: {
      shop: {
        card: {
          skills: [skill],
          provider: { organization: 'Shop', url: 'https://shop.example' },
          documentationUrl: 'https://shop.example/docs',
          iconUrl: 'https://shop.example/icon.png',
          extensions: [
            { uri: extension, description: 'Orders' },
            { uri: required, required: true },
          ],
        },
      },
    },
    config: { cors: ['https://app.example'], grpc: { port: 0, in_card: false } },
  })
})
afterAll(() => gateway.close())

const cardOf = async (agent: string) =>
  (await gateway.request(`/agents/${agent}/.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0' } }))
    .body as never as {
    readonly [name: string]: never
  }

describe('the card of an agent', () => {
  test('has the details of its configuration entry', async () => {
    const card = await cardOf('shop')
    expect(card).toMatchObject({
      skills: [skill],
      provider: { organization: 'Shop', url: 'https://shop.example' },
      documentationUrl: 'https://shop.example/docs',
      iconUrl: 'https://shop.example/icon.png',
    })
    const { extensions } = card.capabilities as unknown as { extensions: object[] }
    expect(extensions).toContainEqual({ uri: extension, description: 'Orders' })
    expect(extensions).toContainEqual({ uri: required, required: true })
    expect((await cardOf('echo')).skills).toMatchObject([{ id: 'conversation' }])
  })

  test('omits the gRPC interface if the operator disables it', async () => {
    const { supportedInterfaces } = await cardOf('shop')
    expect(JSON.stringify(supportedInterfaces)).not.toContain('GRPC')
  })
})

test('a caller must activate a required extension of this agent, and learns which are active', async () => {
  const say = (agent: string, headers?: Record<string, string>) =>
    gateway.sendText('hi', {}, { path: `/agents/${agent}/a2a`, ...(headers && { headers }) })
  expect((await say('shop')).body.error?.code).toBe(-32008)
  expect((await say('echo')).body.result.task.status.state).toBe('TASK_STATE_COMPLETED')
  const active = await say('shop', { 'a2a-extensions': `${extension}, ${required}` })
  expect(active.headers.get('a2a-extensions')).toBe(`${extension}, ${required}`)
})

describe('pages of other origins', () => {
  const ask = (path: string, method: string, origin: string) =>
    gateway.request(path, {
      method,
      headers: { origin, 'access-control-request-method': 'POST', 'a2a-version': '1.0' },
    })

  test.each(['/.well-known/agent-card.json', '/agents/shop/.well-known/agent-card.json'])(
    'may read the card at %s if the operator allows them',
    async path => {
      const allowed = await ask(path, 'GET', 'https://app.example')
      expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example')
      expect((await ask(path, 'GET', 'https://evil.example')).headers.get('access-control-allow-origin')).toBeNull()
    },
  )

  test.each(['/a2a', '/agents/shop/a2a', '/a2a/rest/message:send'])(
    'may call %s if the operator allows them',
    async path => {
      const { status, headers } = await ask(path, 'OPTIONS', 'https://app.example')
      expect([status, headers.get('access-control-allow-origin')]).toEqual([204, 'https://app.example'])
      expect(headers.get('access-control-allow-headers')).toMatch(/authorization.*a2a-version/)
      expect((await ask(path, 'OPTIONS', 'https://evil.example')).headers.get('access-control-allow-origin')).toBeNull()
    },
  )

  test('get no CORS header without the operator’s permission', async () => {
    const closed = await openA2aGateway()
    const { headers } = await closed.request('/.well-known/agent-card.json', {
      headers: { origin: 'https://app.example' },
    })
    expect(headers.get('access-control-allow-origin')).toBeNull()
    await closed.close()
  })
})
