import { PROTOCOL_VERSION } from '@ag-ui/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway } from '../setup/gateway.ts'
import { uniqueName } from '../setup/web-gateway.ts'

// These tests check that nobody continues to read with an expired token.

let gateway: TestGateway
beforeAll(async () => {
  const issuer = 'https://issuer.test'
  const issuers = [{ issuer, audience: 'chat', jwks: `${issuer}/.well-known/jwks.json` }]
  gateway = await openTestGateway(() => ({
    agents: { desk: { use: '../agents/waiting/hanging.ts', deadline: '60s' } },
    web: { enabled: true, auth: { issuers, clock_tolerance_seconds: 0 } },
  }))
})
afterAll(() => gateway.close())

async function requestAgent(path: string, lifetimeSeconds: number, body?: object): Promise<Response> {
  const token = await gateway.simulation.a2a.token({ sub: 'ann', audience: 'chat', lifetimeSeconds })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'text/event-stream' }
  const requestInit = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  return fetch(`${gateway.url()}/api/v1/agents/desk/${path}`, { headers, ...requestInit })
}

test('the streams of a run and a conversation end when the token expires, and resume with a new one', async () => {
  const [threadId, runId] = [uniqueName('thread'), uniqueName('run')]
  const messages = [{ id: 'm1', role: 'user', content: 'hello' }]
  const nothing = { tools: [], context: [], state: {}, forwardedProps: {} }
  const runResponse = await requestAgent('runs', 3, {
    protocolVersion: PROTOCOL_VERSION,
    threadId,
    runId,
    messages,
    ...nothing,
  })
  const thread = await requestAgent(`threads/${threadId}/events`, 3)
  expect([runResponse.status, thread.status]).toEqual([200, 200])
  const texts = await Promise.all([runResponse.text(), thread.text()])
  expect(texts[0]).toContain('RUN_STARTED')
  for (const text of texts) expect(text).not.toMatch(/RUN_FINISHED|RUN_ERROR/)
  const secondResponse = await requestAgent(`runs/${runId}/events`, 60)
  expect(secondResponse.status).toBe(200)
  await secondResponse.body?.cancel()
})
