import { hash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StartedGateway } from '../../src/testing/index.ts'
import { startGateway } from '../../src/testing/index.ts'

const [key, chatToken] = ['key-of-the-tests', 'token-of-the-tests-0123']
let gateway: StartedGateway

beforeAll(async () => {
  const issuer = { issuer: 'https://login.example', jwks: 'https://login.example/keys', audience: 'us' }
  const settings = {
    agents: { echo: { use: 'builtin:echo' } },
    a2a: { auth: { issuers: [issuer], api_keys: [{ name: 'tester', sha256: hash('sha256', key) }] } },
    web: { auth: { issuers: [issuer], tokens: [{ name: 'page', sha256: hash('sha256', chatToken) }] } },
  } as const
  gateway = await startGateway({ folder: import.meta.dirname, settings })
})
afterAll(() => gateway.stop())

test.each(['a2a', 'web'] as const)(
  'the simulation sends by %s to a gateway that configures its own callers',
  async via => {
    const { reply } = await gateway.send({ via, to: 'echo', text: 'hello' })
    expect(reply?.text).toContain('issuer.test')
  },
)

test('the callers of the configuration still count', async () => {
  const message = { messageId: 'own-1', role: 'ROLE_USER', parts: [{ text: 'hello' }] }
  const response = await fetch(`${gateway.url}/agents/echo/a2a/rest/message:send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': key },
    body: JSON.stringify({ message }),
  })
  expect(await response.text()).toContain('tester~')
  const chats = await fetch(`${gateway.url}/api/v1/agent/threads`, {
    headers: { authorization: `Bearer ${chatToken}` },
  })
  expect(chats.status).toBe(200)
})
