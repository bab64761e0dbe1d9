import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { echoAgent, openA2aGateway } from '../setup/gateway.ts'

let gateway: A2aTestGateway
const withoutToken = { token: null }

beforeAll(async () => {
  const askingAgent = { handle: () => ({ status: 'input_required' as const, parts: [] }) }
  gateway = await openA2aGateway({
    agents: { echo: echoAgent, asking: askingAgent },
    config: { auth: { anonymous: true } },
  })
})
afterAll(() => gateway.close())

describe('callers without credentials, if the configuration allows them,', () => {
  test('get an answer, and are anonymous to the agent', async () => {
    const { body } = await gateway.sendText('hi', {}, withoutToken)
    expect(body.result.task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(gateway.receivedMessages.at(-1)?.sender).toEqual({
      address: '@anonymous@agents.test',
      auth_method: 'none',
      verified: false,
    })
  })

  test('cannot use an invalid credential', async () => {
    expect((await gateway.sendText('hi', {}, { token: 'a.b.c' })).status).toBe(401)
  })

  test('can read a task whose id they know, but list none', async () => {
    const { id } = (await gateway.sendText('hi', {}, withoutToken)).body.result.task
    expect((await gateway.rpc('GetTask', { id }, withoutToken)).body.result.id).toBe(id)
    expect((await gateway.rpc('ListTasks', {}, withoutToken)).body.result).toMatchObject({ tasks: [], totalSize: 0 })
    const tasks = await gateway.rpc('ListTasks', { contextId: id }, withoutToken)
    expect(tasks.body.result.tasks).toHaveLength(1)
  })

  test('never share a task by a message id (A2A-M14)', async () => {
    const first = await gateway.sendText('hi', { messageId: '1' }, withoutToken)
    const second = await gateway.sendText('hi', { messageId: '1' }, withoutToken)
    const third = await gateway.sendText('other words', { messageId: '1' }, withoutToken)
    const ids = [first, second, third].map(({ body }) => body.result.task.id)
    expect(new Set(ids).size).toBe(3)
    expect(gateway.receivedMessages.at(-1)?.history).toEqual([])
  })

  test('get no second answer within a task that they know (A2A-M12)', async () => {
    const path = '/agents/asking/a2a'
    const { id } = (await gateway.sendText('hi', {}, { ...withoutToken, path })).body.result.task
    const before = gateway.receivedMessages.length
    for (let time = 0; time < 2; time += 1) {
      const { body } = await gateway.sendText('more', { messageId: 'again', taskId: id }, { ...withoutToken, path })
      expect(body.result.task.id).toBe(id)
    }
    expect(gateway.receivedMessages).toHaveLength(before + 1)
  })

  test('can continue a context that the gateway made, but not choose one', async () => {
    const { contextId } = (await gateway.sendText('hi', {}, withoutToken)).body.result.task
    await gateway.sendText('more', { contextId }, withoutToken)
    expect(gateway.receivedMessages.at(-1)?.history).toHaveLength(2)
    const atOther = (await gateway.sendText('hi', {}, { ...withoutToken, path: '/agents/asking/a2a' })).body.result.task
      .contextId
    for (const contextId of ['lobby', '00000000-0000-4000-8000-000000000000', atOther]) {
      const { body } = await gateway.sendText('hi', { contextId }, withoutToken)
      expect(body.error).toMatchObject({ code: -32602, message: 'Cannot SendMessage: message.contextId is not known' })
    }
  })
})

test('callers of one network who open many tasks leave quota for other anonymous callers, up to a bound (A2A-T02)', async () => {
  const config = { auth: { anonymous: true }, limits: { open_tasks_per_caller: 2 } }
  const busyGateway = await openA2aGateway({ runsWorker: false, config })
  let number = 0
  const openFrom = async (clientAddress: string) => {
    number += 1
    const message = { messageId: `m-${number}`, role: 'ROLE_USER', parts: [{ text: 'hi' }] }
    const params = { message, configuration: { returnImmediately: true } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
    const answer = await busyGateway.channel.endpoint.routes.request(
      '/a2a',
      { method: 'POST', body, headers },
      { clientAddress },
    )
    return { status: answer.status, text: await answer.text() }
  }
  const statuses = async (...from: string[]) => {
    const answers = []
    for (const address of from) answers.push((await openFrom(address)).status)
    return answers
  }
  expect(await statuses('2001:db8::1', '2001:db8::2', '2001:db8::ffff:3')).toEqual([200, 200, 429])
  expect((await openFrom('2001:db8::1')).text).toContain('Cannot open task: too many are open')
  expect(await statuses('2001:db8:0:1::1', '192.0.2.1', '192.0.2.1', '192.0.2.1')).toEqual([200, 200, 200, 429])
  // The limit is the tasks of ten callers in total, regardless of the number of addresses.
  const manyStatuses = await statuses(...Array.from({ length: 30 }, (_, index) => `198.51.100.${index}`))
  expect(manyStatuses.filter(status => status === 200)).toHaveLength(20 - 5)
  // Callers with credentials have their own quota.
  expect((await busyGateway.sendText('hi', {}, { configuration: { returnImmediately: true } })).status).toBe(200)
  await busyGateway.close()
})
