import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway, operatorToken } from '../setup/gateway.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await openTestGateway(() => ({
    agents: { echo: { use: 'builtin:echo' }, other: { use: 'builtin:echo' } },
  }))
})
afterAll(() => gateway.close())

const postStatus = async (path: string) => {
  const headers = { authorization: `Bearer ${operatorToken}` }
  const response = await fetch(`${gateway.url()}/operator/api${path}`, { method: 'POST', headers })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

test('the status shows the running parts and the amount of waiting work', async () => {
  const status = await gateway.requestOperator<Record<string, unknown>>('/status')
  expect(status).toMatchObject({ domain: 'agents.test', store: 'SQLite', dev: true, agents: 2, waiting: 0 })
  expect(status.uptime_ms).toBeGreaterThanOrEqual(0)
})

test('messages to a paused agent wait until it resumes, while those to others do not', async () => {
  const { fediverse } = gateway.simulation
  expect(await postStatus('/agents/echo/pause')).toEqual({ status: 200, body: { agent: 'echo', is_paused: true } })
  const pausedReceipt = await fediverse.deliver({ to: '@echo@agents.test', text: 'while you are away' })
  const otherReceipt = await fediverse.deliver({ to: '@other@agents.test', text: 'are you there?' })
  await fediverse.awaitReply(otherReceipt.objectId, 30_000)
  expect(pausedReceipt.status).toBe(202)
  expect((await gateway.messages()).map(({ agent, state }) => [agent, state])).toEqual([
    ['other', 'answered'],
    ['echo', 'received'],
  ])
  await gateway.restart()
  const { items: agents } = await gateway.requestOperator<{ items: { name: string; is_paused: boolean }[] }>('/agents')
  expect(agents.map(({ name, is_paused }) => [name, is_paused])).toEqual([
    ['echo', true],
    ['other', false],
  ])
  expect(await postStatus('/agents/echo/resume')).toEqual({ status: 200, body: { agent: 'echo', is_paused: false } })
  await fediverse.awaitReply(pausedReceipt.objectId, 30_000)
})

test('the operator cannot pause an unknown agent', async () => {
  expect(await postStatus('/agents/nobody/pause')).toMatchObject({ status: 404, body: { code: 'no_recipient' } })
})
