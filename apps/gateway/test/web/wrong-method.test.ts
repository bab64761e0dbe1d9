import { afterAll, beforeAll, expect, test } from 'vitest'
import type { WebGateway } from '../setup/web-gateway.ts'
import { checkEventStream, openWebGateway, parseEvents, uniqueName } from '../setup/web-gateway.ts'

let web: WebGateway

beforeAll(async () => {
  web = await openWebGateway({ origins: ['https://chat.example'] })
})
afterAll(() => web.close())

test.each([
  ['GET', '/api/v1/agent/runs', 'POST'],
  ['PUT', '/api/v1/agents/chat/runs', 'POST'],
  ['POST', '/api/v1/agent/history?threadId=a', 'GET, HEAD'],
  ['GET', '/api/v1/agent/runs/run-1/cancel', 'POST'],
  ['GET', '/api/v1/agent/attachments', 'DELETE, POST'],
  ['POST', '/storage/v1/object/sign/bucket/a/b.jpg', 'GET, HEAD'],
  ['PATCH', '/v1/sessions', 'GET, HEAD, POST'],
  ['POST', '/v1/sessions/some-id', 'DELETE, GET, HEAD, PUT'],
  ['POST', '/v1/sessions/pending', 'DELETE, GET, HEAD, PUT'],
  ['PUT', '/v1/usage', 'GET, HEAD'],
  ['PATCH', '/v1/store/here', 'DELETE'],
])('%s %s answers 405 and names the allowed methods: %s', async (method, path, allow) => {
  const response = await web.requestAs(path, { method })
  expect([response.status, response.headers.get('allow')]).toEqual([405, allow])
  expect(await response.json()).toEqual({
    title: 'Method Not Allowed',
    status: 405,
    code: 'unsupported',
    detail: `Cannot answer: only ${allow} is allowed here`,
  })
})

test('CORS lets a page of an allowed origin read the 405 answer', async () => {
  const headers = { origin: 'https://chat.example' }
  const response = await web.requestAs('/api/v1/agent/runs', { headers })
  expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([405, 'https://chat.example'])
  expect((await web.requestAs('/api/v1/agent/runs', { method: 'OPTIONS', headers })).status).toBe(204)
  expect((await web.requestAs('/api/v1/agent/threads', { method: 'HEAD' })).status).toBe(200)
})

test.each(['/api/v1/agent/nothing', '/v1/nothing', '/v1/sessions/a/b/c', '/storage/v1/other'])(
  '%s answers 404',
  async path => {
    for (const method of ['GET', 'POST']) {
      const response = await web.requestAs(path, { method })
      expect([response.status, response.headers.get('allow')]).toEqual([404, null])
    }
  },
)

test('the allowed method still works', async () => {
  const messages = [{ id: uniqueName('msg'), role: 'user', content: 'hello' }]
  const response = await web.postRun({ threadId: uniqueName('thread'), runId: uniqueName('run'), messages })
  const text = await response.text()
  const events = parseEvents(text)
  await checkEventStream(text, events)
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
})
