import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, openTestGateway } from '../setup/gateway.ts'

let gateway: Awaited<ReturnType<typeof openTestGateway>>
beforeAll(async () => {
  gateway = await openTestGateway(() => ({ agents: { echo: { use: 'builtin:echo' } } }))
})
afterAll(() => gateway.close())

interface WireTask {
  readonly id: string
  readonly status: { readonly state: string }
  readonly history?: readonly { readonly role: string }[]
}

async function callA2a(method: string, params: object): Promise<WireTask> {
  const headers = {
    'content-type': 'application/json',
    'a2a-version': '1.0',
    authorization: `Bearer ${await gateway.simulation.a2a.token({ sub: 'caller' })}`,
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(`${gateway.url()}/agents/echo/a2a`, { method: 'POST', headers, body })
  const { result } = (await response.json()) as { readonly result: WireTask & { readonly task?: WireTask } }
  return result.task ?? result
}

// Some callers, such as CrewAI 1.15.30, go on in a conversation only if a poll has shown them its first task.
test('a caller that asks for an immediate return gets an open task and can poll the answer, even from a fast agent', async () => {
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hello' }] }
  const { id, status } = await callA2a('SendMessage', { message, configuration: { returnImmediately: true } })
  expect(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']).toContain(status.state)
  await eventually(async () => (await callA2a('GetTask', { id })).status.state === 'TASK_STATE_COMPLETED')
  const { history } = await callA2a('GetTask', { id, historyLength: 10 })
  expect(history?.map(({ role }) => role)).toContain('ROLE_USER')
})
