import type { Agent } from '@postern/pipeline'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { A2aAnswer, A2aTestGateway } from '../setup/gateway.ts'
import { joinTextParts, openA2aGateway } from '../setup/gateway.ts'
import type { TestReceiver } from '../setup/receiver.ts'
import { openReceiver } from '../setup/receiver.ts'

const says = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const

const agent: Agent = {
  async handle({ parts }, { signal }) {
    const text = joinTextParts(parts)
    if (text === 'hang') await new Promise((_, no) => signal.addEventListener('abort', () => no(signal.reason)))
    return { status: text === 'ask' ? 'input_required' : 'completed', parts: [says(`on ${text}`)] }
  },
}

let receiver: TestReceiver
let gateway: A2aTestGateway
let bob: string

beforeAll(async () => {
  receiver = await openReceiver()
  const loopback = { 'hook.test': receiver.port, 'other.test': receiver.port }
  gateway = await openA2aGateway({ agents: { desk: agent }, loopback })
  bob = await gateway.issuer.sign({ sub: 'bob' })
})
afterEach(() => {
  receiver.pushes.length = 0
  receiver.answers.length = 0
})
afterAll(async () => {
  await gateway.close()
  await receiver.close()
})

const url = 'https://hook.test/in?secret=s3cr3t-path'
const authentication = { scheme: 'Bearer', credentials: 's3cr3t-credential' }
const config = { id: 'mine', url, token: 'token-1', authentication }

async function startTask(text: string, push?: object): Promise<{ readonly id: string; readonly contextId: string }> {
  const configuration = { returnImmediately: true, ...(push && { taskPushNotificationConfig: push }) }
  return (await gateway.sendText(text, {}, { configuration })).body.result.task
}

async function openQuestion(): Promise<string> {
  return (await gateway.sendText('ask')).body.result.task.id
}

const create = (taskId: string, overrides: object = {}, token?: string) =>
  gateway.rpc('CreateTaskPushNotificationConfig', { taskId, ...config, ...overrides }, { token })

const bodies = () => receiver.pushes.map(({ text }) => JSON.parse(text))
const states = () => bodies().map(({ task }) => task.status.state.slice(11))
const deliveriesOf = async (taskId: string) =>
  (await gateway.store.listDeliveries({ limit: 50 })).filter(({ to }) => to.includes(`/#${taskId}/`))

/** Drops the queued deliveries of a task, so that none is sent while other tests advance the clock. */
const dropDeliveriesOf = async (taskId: string) => {
  for (const { id } of await deliveriesOf(taskId)) await gateway.store.dropDelivery(id)
}

describe('a push receiver of a 0.3 client', () => {
  const legacy = (method: string, params: object) => gateway.rpc(method, params, { headers: { 'a2a-version': '0.3' } })
  const message = (text: string, overrides: object = {}) => ({
    kind: 'message',
    messageId: `legacy-${text}`,
    role: 'user',
    parts: [{ kind: 'text', text }],
    ...overrides,
  })
  const pushNotificationConfig = { url, token: 'token-1' }

  test('gets the task in the format of 0.3, named in the message or separately', async () => {
    const configuration = { blocking: true, pushNotificationConfig }
    const questionTask = (await legacy('message/send', { message: message('ask'), configuration })).body.result
    await expect.poll(() => receiver.pushes.length).toBe(1)
    const second = { taskId: questionTask.id, pushNotificationConfig: { ...pushNotificationConfig, id: 'second' } }
    await legacy('tasks/pushNotificationConfig/set', second)
    await legacy('message/send', { message: message('go', { taskId: questionTask.id }) })
    await expect.poll(() => receiver.pushes.length).toBe(3)
    expect(bodies().map(({ kind, id, status }) => [kind, id, status.state])).toEqual([
      ['task', questionTask.id, 'input-required'],
      ['task', questionTask.id, 'completed'],
      ['task', questionTask.id, 'completed'],
    ])
    expect(bodies()[1].artifacts[0].parts).toEqual([{ kind: 'text', text: 'on go' }])
    expect(receiver.pushes[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-a2a-notification-token': 'token-1',
    })
  })
})

describe('push configurations', () => {
  test('come back to their owner without credentials (PUSH-CREATE-001, -002, PUSH-GET-001, PUSH-LIST-001)', async () => {
    const taskId = await openQuestion()
    const createAnswer = await create(taskId)
    const shownConfig = { id: 'mine', taskId, url, token: 'token-1', authentication: { scheme: 'Bearer' } }
    expect([createAnswer.status, createAnswer.body.result]).toEqual([200, shownConfig])
    expect((await gateway.rpc('GetTaskPushNotificationConfig', { taskId, id: 'mine' })).body.result).toEqual(
      shownConfig,
    )
    const second = (await create(taskId, { id: undefined, token: undefined })).body.result
    expect(second.id).toMatch(/^[0-9a-f-]{36}$/)
    const listAnswer = await gateway.rpc('ListTaskPushNotificationConfigs', { taskId })
    expect(listAnswer.body.result.nextPageToken).toBe('')
    expect(listAnswer.body.result.configs).toHaveLength(2)
    expect(listAnswer.body.result.configs).toEqual(expect.arrayContaining([shownConfig, second]))
    expect(listAnswer.text).not.toContain('s3cr3t-credential')
  })

  test('have the same paths and results over HTTP+JSON', async () => {
    const taskId = await openQuestion()
    const headers = {
      'a2a-version': '1.0',
      authorization: `Bearer ${gateway.token}`,
      'content-type': 'application/json',
    }
    const configsPath = `/a2a/rest/tasks/${taskId}/pushNotificationConfigs`
    const createAnswer = await gateway.request(configsPath, { method: 'POST', headers, body: JSON.stringify(config) })
    expect(createAnswer.status).toBe(200)
    expect((await gateway.request(`${configsPath}/mine`, { headers })).body).toEqual(createAnswer.body)
    expect((await gateway.request(configsPath, { headers })).body).toEqual({
      configs: [createAnswer.body],
      nextPageToken: '',
    })
    const deleteAnswer = await gateway.request(`${configsPath}/mine`, { method: 'DELETE', headers })
    expect([deleteAnswer.status, deleteAnswer.body]).toEqual([200, {}])
    expect((await gateway.request(`${configsPath}/mine`, { headers })).status).toBe(404)
  })

  test('disappear on deletion, and a second deletion is no error (PUSH-DEL-001, -002, PUSH-GET-002)', async () => {
    const taskId = await openQuestion()
    await create(taskId)
    for (let time = 0; time < 2; time += 1) {
      expect((await gateway.rpc('DeleteTaskPushNotificationConfig', { taskId, id: 'mine' })).body.result).toEqual({})
    }
    const { body } = await gateway.rpc('GetTaskPushNotificationConfig', { taskId, id: 'mine' })
    expect(body.error).toMatchObject({ code: -32001, message: 'Task not found' })
  })

  test('may concern a task that has ended', async () => {
    const { id } = (await gateway.sendText('hello')).body.result.task
    expect((await create(id)).body.error).toBeUndefined()
  })

  test('of another caller do not exist for this one, exactly as for an unknown task (A2A-T02)', async () => {
    const taskId = await openQuestion()
    await create(taskId)
    const unknown = '00000000-0000-4000-8000-000000000000'
    const operations = ['Create', 'Get', 'Delete'].map(verb => `${verb}TaskPushNotificationConfig`)
    for (const method of [...operations, 'ListTaskPushNotificationConfigs']) {
      const foreign = await gateway.rpc(method, { ...config, taskId }, { token: bob })
      const emptyAnswer = await gateway.rpc(method, { ...config, taskId: unknown }, { token: bob })
      expect(foreign.text).toBe(emptyAnswer.text)
      expect(foreign.body.error?.code).toBe(-32001)
    }
    expect(await gateway.rpc('GetTaskPushNotificationConfig', { taskId, id: 'mine' })).toMatchObject({ status: 200 })
  })

  test('have a limit of ten for one task, including inline ones (A2A-P08)', async () => {
    const taskId = await openQuestion()
    const configOf = (number: number) => ({ id: `c-${number}`, url: `https://hook-${number}.example/in` })
    for (let number = 0; number < 10; number += 1)
      expect((await create(taskId, configOf(number))).body.error).toBeUndefined()
    const answer = await create(taskId, configOf(10))
    expect(answer.body.error).toMatchObject({ code: -32602 })
    expect(answer.body.error?.message).toContain('has 10 push notification configs already')
    const inline = await gateway.sendText(
      'x',
      { taskId },
      { configuration: { taskPushNotificationConfig: { ...config, id: 'c-11' } } },
    )
    expect(inline.body.error?.code).toBe(-32602)
    expect((await create(taskId, configOf(3))).body.error).toBeUndefined()
  })

  test('may name three for one task at one receiver, who may be a victim (A2A-P08)', async () => {
    const taskId = await openQuestion()
    for (const id of ['a', 'b', 'c']) expect((await create(taskId, { id })).body.error).toBeUndefined()
    const answer = await create(taskId, { id: 'd', url: 'https://HOOK.test:443/other' })
    expect(answer.body.error?.message).toContain('url is at an origin that has 3 push notification configs')
    const taskPushNotificationConfig = { ...config, id: 'e' }
    const inline = await gateway.sendText('x', { taskId }, { configuration: { taskPushNotificationConfig } })
    expect(inline.body.error?.data[1].fieldViolations[0].field).toBe('configuration.taskPushNotificationConfig.url')
    expect((await create(taskId, { id: 'c' })).body.error).toBeUndefined()
    expect((await create(taskId, { id: 'd', url: 'https://other.test/' })).body.error).toBeUndefined()
  })
})

describe('the gateway refuses a URL or header of a receiver:', () => {
  const refuses = ({ body }: A2aAnswer, field: string) => {
    expect(body.error?.code).toBe(-32602)
    expect(body.error?.data[1].fieldViolations[0].field).toBe(field)
  }
  test.each([
    ['A2A-P01', 'http://169.254.169.254/'],
    ['A2A-P01', 'https://169.254.169.254/latest'],
    ['A2A-P01', 'http://[::ffff:127.0.0.1]/'],
    ['A2A-P01', 'https://[::ffff:127.0.0.1]/'],
    ['A2A-P01', 'http://0x7f.1/'],
    ['A2A-P01', 'https://0x7f.1/'],
    ['A2A-P01', 'http://2130706433/'],
    ['A2A-P01', 'https://2130706433/'],
    ['A2A-P01', 'https://localhost/'],
    ['A2A-P01', 'https://printer.local/'],
    ['A2A-P02', 'file:///etc/passwd'],
    ['A2A-P02', 'ftp://example.org/'],
    ['A2A-P02', 'gopher://example.org/'],
    ['A2A-P02', 'no URL'],
    ['A2A-P02', '/relative'],
    ['A2A-P02', ''],
    ['A2A-P06', 'https://user:pass@example.org/'],
    ['A2A-P06', 'https://example.org:22/'],
    ['plain', 'http://example.org/'],
  ])('%s %s', async (_, address) => {
    const taskId = await openQuestion()
    refuses(await create(taskId, { url: address }), 'url')
    const push = { ...config, url: address }
    const inline = await gateway.sendText('x', {}, { configuration: { taskPushNotificationConfig: push } })
    refuses(inline, 'configuration.taskPushNotificationConfig.url')
    expect(receiver.pushes).toEqual([])
  })

  test.each([
    [
      'credentials',
      { authentication: { scheme: 'Bearer', credentials: 'a\r\nX-Evil: 1' } },
      'authentication.credentials',
    ],
    ['scheme', { authentication: { scheme: 'Bearer\r\nX-Evil: 1', credentials: 'a' } }, 'authentication.scheme'],
    ['no scheme', { authentication: { credentials: 'a' } }, 'authentication.scheme'],
    ['token', { token: 'a\nb' }, 'token'],
    ['token of 10 kB', { token: 'a'.repeat(10_000) }, 'token'],
    ['url a number', { url: 5 }, 'url'],
    ['id an object', { id: {} }, 'id'],
  ])('%s (A2A-P07)', async (_, overrides, field) => refuses(await create(await openQuestion(), overrides), field))
})

describe('push notifications (PUSH-DELIVER)', () => {
  test('are StreamResponses with the credentials and the token, one for each end of a turn (PUSH-DELIVER-001..003)', async () => {
    const { id, contextId } = await startTask('ask', config)
    await expect.poll(states).toEqual(['INPUT_REQUIRED'])
    await gateway.sendText('hello', { taskId: id })
    await expect.poll(states).toEqual(['INPUT_REQUIRED', 'COMPLETED'])
    const { headers, path } = receiver.pushes[1] ?? { headers: {}, path: '' }
    expect(path).toBe('/in?secret=s3cr3t-path')
    expect(headers).toMatchObject({
      'content-type': 'application/a2a+json',
      authorization: 'Bearer s3cr3t-credential',
      'x-a2a-notification-token': 'token-1',
    })
    const { body } = await gateway.rpc('GetTask', { id, historyLength: 0 })
    expect(bodies()[1]).toEqual({ task: body.result })
    expect(body.result.contextId).toBe(contextId)
  })

  test.each([
    ['a scheme of another name', { scheme: 'Basic', credentials: 'czpwdw==' }, 'Basic czpwdw=='],
    ['no credentials', { scheme: 'Basic' }, undefined],
  ])('with %s have the requested authorization, and a token only if there is one', async (_, how, sent) => {
    await startTask('hello', { id: 'other', url, authentication: how })
    await expect.poll(states).toEqual(['COMPLETED'])
    const { authorization, 'x-a2a-notification-token': token } = receiver.pushes[0]?.headers ?? {}
    expect([authorization, token]).toEqual([sent, undefined])
  })

  test('announce a large answer without its content', async () => {
    const { id, contextId } = await startTask(`x${'y'.repeat(300_000)}`, config)
    await expect.poll(states).toEqual(['COMPLETED'])
    const { state, timestamp } = bodies()[0].task.status
    expect(bodies()).toEqual([{ task: { id, contextId, status: { state, timestamp } } }])
  })

  test('announce a cancel', async () => {
    const { id } = await startTask('hang', config)
    await gateway.rpc('CancelTask', { id })
    await expect.poll(states).toEqual(['CANCELED'])
    expect(bodies()[0].task.id).toBe(id)
  })

  test('leave no credential, and only the receiver’s origin, in logs, deliveries and stored requests (A2A-P12)', async () => {
    const { id } = await startTask('hello', config)
    await expect.poll(states).toEqual(['COMPLETED'])
    await expect.poll(async () => (await deliveriesOf(id))[0]?.state).toBe('sent')
    const [delivery] = await deliveriesOf(id)
    expect(delivery?.to).toBe(`https://hook.test/#${id}/mine`)
    const visibleText = JSON.stringify([delivery, gateway.system.logged, gateway.receivedMessages.at(-1)?.raw])
    expect(visibleText).not.toContain('s3cr3t')
  })

  test('retry a failing receiver, and later ones wait their turn (A2A-P10)', async () => {
    receiver.answers.push(500)
    const { id } = await startTask('ask', config)
    await expect.poll(() => receiver.pushes.length).toBe(1)
    await gateway.sendText('hello', { taskId: id })
    await expect
      .poll(async () => (await deliveriesOf(id)).map(({ state }) => state).slice(0, 2))
      .toEqual(['queued', 'later'])
    expect(receiver.pushes).toHaveLength(1)
    gateway.system.advance(60_000)
    await expect.poll(states).toEqual(['INPUT_REQUIRED', 'INPUT_REQUIRED', 'COMPLETED'])
  })

  test.each([
    [400, 'dead'],
    [404, 'dead'],
    [408, 'later'],
    [425, 'later'],
    [429, 'later'],
    [503, 'later'],
  ])('after %i a notification is %s (A2A-P10)', async (status, state) => {
    receiver.answers.push(status)
    const { id } = await startTask('ask', config)
    const last_error = `Cannot notify: the receiver answered ${status}`
    await expect.poll(async () => (await deliveriesOf(id))[0]).toMatchObject({ state, last_error })
    const { body } = await gateway.rpc('ListTaskPushNotificationConfigs', { taskId: id })
    expect(body.result.configs).toHaveLength(1)
    await dropDeliveriesOf(id)
  })

  test('retry a receiver no sooner than it asks (A2A-P10)', async () => {
    receiver.answers.push({ status: 503, retryAfter: '1800' })
    const { id } = await startTask('ask', config)
    await expect.poll(async () => (await deliveriesOf(id))[0]?.state).toBe('later')
    const [delivery] = await deliveriesOf(id)
    const waitMs = Date.parse(delivery?.next_attempt_at ?? '') - gateway.system.now()
    expect(waitMs).toBeGreaterThan(1_700_000)
    expect(waitMs).toBeLessThan(2_700_000)
    await dropDeliveriesOf(id)
  })

  test('stop for a receiver that answers 410 (A2A-P11)', async () => {
    receiver.answers.push(410)
    const { id } = await startTask('ask', config)
    await expect.poll(async () => (await deliveriesOf(id))[0]?.state).toBe('dead')
    const { body } = await gateway.rpc('ListTaskPushNotificationConfigs', { taskId: id })
    expect(body.result.configs).toEqual([])
  })

  test('do not follow redirects (A2A-P05)', async () => {
    receiver.answers.push(302)
    const { id } = await startTask('hello', config)
    await expect
      .poll(async () => (await deliveriesOf(id))[0])
      .toMatchObject({ state: 'dead', last_error: 'Cannot notify: the receiver answered 302' })
    expect(receiver.pushes).toHaveLength(1)
  })

  test('stop reading an endless response, and the task continues (A2A-P09)', async () => {
    receiver.answers.push('endless')
    const { id } = await startTask('hello', config)
    await expect.poll(async () => (await deliveriesOf(id))[0]?.state).toBe('dead')
    expect((await gateway.rpc('GetTask', { id })).body.result.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test('time out for a receiver that never answers, and the task continues (A2A-P09)', async () => {
    const quick = await openA2aGateway({
      loopback: { 'hook.test': receiver.port },
      config: { limits: { push_seconds: 2 } },
    })
    receiver.answers.push('never')
    const configuration = { taskPushNotificationConfig: config }
    const { id } = (await quick.sendText('hello', {}, { configuration })).body.result.task
    await expect
      .poll(async () => (await quick.store.listDeliveries({ limit: 9, state: 'later' }))[0]?.last_error)
      .toMatch(/in time|timed? ?out/i)
    expect((await quick.rpc('GetTask', { id })).body.result.status.state).toBe('TASK_STATE_COMPLETED')
    quick.system.advance(60_000)
    await expect.poll(() => receiver.pushes.length).toBe(2)
    await quick.close()
  })

  test('stop when their owner deletes the configuration', async () => {
    receiver.answers.push(500)
    const { id } = await startTask('ask', config)
    await expect.poll(() => receiver.pushes.length).toBe(1)
    await gateway.rpc('DeleteTaskPushNotificationConfig', { taskId: id, id: 'mine' })
    gateway.system.advance(60_000)
    await expect.poll(async () => (await deliveriesOf(id))[0]?.state).toBe('sent')
    expect(receiver.pushes).toHaveLength(1)
  })

  test('survive a restart: the configuration is in the store', async () => {
    const taskId = await openQuestion()
    await create(taskId, { url: 'https://other.test/' })
    expect(await gateway.store.listWatches({ owner: (await ownerOf(taskId)) ?? '', id: taskId })).toMatchObject([
      { id: 'mine', to: `https://other.test/#${taskId}/mine` },
    ])
  })

  async function ownerOf(id: string): Promise<string | undefined> {
    const { issuer } = gateway.issuer
    const owner = `${issuer} sub alice`
    return (await gateway.store.findTask({ owner, id }))?.owner
  }
})

describe('the gateway checks the address of a receiver’s host when it sends', () => {
  test.each([
    ['A2A-P03 to a private address', ['10.0.0.1']],
    ['A2A-P04 to a public and a private one', ['93.184.216.34', '127.0.0.1']],
  ])('and refuses %s, which the operator sees', async (_, addresses) => {
    const guardedGateway = await openA2aGateway({ agents: { desk: agent }, lookup: async () => addresses })
    const configuration = { taskPushNotificationConfig: { ...config, url: 'https://rebound.example/' } }
    const { body } = await guardedGateway.sendText('hello', {}, { configuration })
    expect(body.result.task.status.state).toBe('TASK_STATE_COMPLETED')
    const pushOnce = async () =>
      (await guardedGateway.store.listDeliveries({ limit: 5 })).find(({ to }) => to.startsWith('https'))
    await expect.poll(pushOnce).toMatchObject({ state: 'dead', last_error: expect.stringContaining('not public') })
    await guardedGateway.close()
  })
})

test('without push, the gateway refuses all four methods and the inline configuration (A2A-P13, CORE-CAP-001)', async () => {
  const withoutPush = await openA2aGateway({ config: { capabilities: { push_notifications: false } } })
  const verbs = ['Create', 'Get', 'Delete'].map(verb => `${verb}TaskPushNotificationConfig`)
  for (const method of [...verbs, 'ListTaskPushNotificationConfigs']) {
    const { body } = await withoutPush.rpc(method, { taskId: 'x', ...config })
    expect([body.error?.code, body.error?.data[0].reason]).toEqual([-32003, 'PUSH_NOTIFICATION_NOT_SUPPORTED'])
  }
  const inline = await withoutPush.sendText('x', {}, { configuration: { taskPushNotificationConfig: config } })
  expect(inline.body.error?.code).toBe(-32003)
  expect(withoutPush.receivedMessages).toEqual([])
  await withoutPush.close()
})

test('a caller cannot open more tasks than the limit', async () => {
  const cappedGateway = await openA2aGateway({
    agents: { desk: agent },
    config: { limits: { open_tasks_per_caller: 2 } },
  })
  await cappedGateway.sendText('ask')
  const { id } = (await cappedGateway.sendText('ask')).body.result.task
  const refusal = await cappedGateway.sendText('ask')
  expect([refusal.status, refusal.body.error?.message]).toEqual([429, 'Cannot open task: too many are open'])
  await cappedGateway.sendText('hello', { taskId: id })
  expect((await cappedGateway.sendText('hello')).status).toBe(200)
  await cappedGateway.close()
})
