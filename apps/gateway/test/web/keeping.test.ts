import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway, uniqueName } from '../setup/web-gateway.ts'

// These tests check which data expires, and which stays until its owner deletes it.

let web: WebGateway
beforeAll(async () => {
  web = await openWebGateway()
})
afterAll(() => web.close())

async function callOverA2a(method: string, params: object): Promise<{ readonly tasks?: readonly unknown[] }> {
  const token = await web.gateway.simulation.a2a.token({ sub: 'carol' })
  const response = await fetch(`${web.gateway.url()}/agents/chat/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', authorization: `Bearer ${token}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return ((await response.json()) as { result: { tasks?: readonly unknown[] } }).result
}

const countTasks = async () => (await callOverA2a('ListTasks', {})).tasks?.length

test('chats stay when all A2A tasks expire', async () => {
  const threadId = uniqueName('thread')
  await web.runChat('hello', { threadId })
  const question = uniqueName('thread')
  await web.runChat('ask', { threadId: question })
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hello' }] }
  await callOverA2a('SendMessage', { message })
  // The newest message of all always stays.
  await web.runChat('hello', { threadId })
  expect(await countTasks()).toBe(1)
  const { store } = web.gateway.gateway()
  const inTenYears = Date.now() + 10 * 365 * 86_400_000
  while (!(await store.expireTasks({ unchangedSince: inTenYears, limit: 50 })).isDone);
  expect(await countTasks()).toBe(0)
  expect(await web.readHistory(threadId)).toHaveLength(4)
  expect(await web.readHistory(question)).toHaveLength(2)
  const { json } = await web.requestJson('GET', '/api/v1/agent/threads')
  expect(json.threads).toHaveLength(2)
})
