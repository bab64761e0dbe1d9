import { afterAll, beforeAll, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'

let gateway: A2aTestGateway

beforeAll(async () => {
  gateway = await openA2aGateway()
})
afterAll(() => gateway.close())

test('SendMessage waits for the agent and answers with the completed task', async () => {
  const { status, body } = await gateway.sendText('hello')
  expect(status).toBe(200)
  const { task } = body.result
  expect(task).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    contextId: task.id,
    status: { state: 'TASK_STATE_COMPLETED', timestamp: expect.stringMatching(/Z$/) },
    artifacts: [{ artifactId: expect.any(String), parts: [{ text: 'heard: hello', mediaType: 'text/plain' }] }],
  })
})

test('an agent may answer with a bare Message, over both bindings and in 0.3 (CORE-SEND-001)', async () => {
  const bare = {
    handle: () => ({ as: 'message' as const, parts: [{ kind: 'text', mime: 'text/plain', content: 'hi' }] as const }),
  }
  const brief = await openA2aGateway({ agents: { bare: bare as never } })
  const message = {
    messageId: expect.any(String),
    role: 'ROLE_AGENT',
    contextId: expect.any(String),
    parts: [{ text: 'hi', mediaType: 'text/plain' }],
  }
  expect((await brief.sendText('hello')).body.result).toEqual({ message })
  const sentMessage = { messageId: 'bare', role: 'ROLE_USER', parts: [{ text: 'hello' }] }
  const restAnswer = await brief.request('/a2a/rest/message:send', {
    method: 'POST',
    headers: { 'a2a-version': '1.0', 'content-type': 'application/json', authorization: `Bearer ${brief.token}` },
    body: JSON.stringify({ message: sentMessage }),
  })
  expect(restAnswer.body).toEqual({ message })
  const legacy = {
    message: { kind: 'message', messageId: 'bare-0.3', role: 'user', parts: [{ kind: 'text', text: 'hello' }] },
  }
  const older = await brief.rpc('message/send', legacy, { headers: { 'a2a-version': '' } })
  expect(older.body.result).toMatchObject({ kind: 'message', role: 'agent', parts: [{ kind: 'text', text: 'hi' }] })
  await brief.close()
})
