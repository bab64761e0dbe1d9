import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Role, TaskState } from '@a2a-js/sdk'
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'
import { listenOnLoopback } from '../setup/listen.ts'

/** Opens the official client over a real socket. `https://agents.test` is this machine. */
async function openClient(gateway: A2aTestGateway, token: string | undefined) {
  const { port, close } = await listenOnLoopback(gateway.channel.endpoint.routes)
  const fetchImpl: typeof fetch = (input, init) => {
    const url = String(input instanceof Request ? input.url : input).replace(
      'https://agents.test',
      `http://127.0.0.1:${port}`,
    )
    const headers = new Headers(init?.headers)
    if (token) headers.set('authorization', `Bearer ${token}`)
    return fetch(url, { ...init, headers })
  }
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  })
  const client = await factory.createFromUrl('https://agents.test')
  return { client, close }
}

const message = (text: string, messageId: string) => ({
  messageId,
  contextId: '',
  taskId: '',
  role: Role.ROLE_USER,
  parts: [{ content: { $case: 'text', value: text } as const, metadata: undefined, filename: '', mediaType: '' }],
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
})
const send = (text: string, messageId: string) => ({
  tenant: '',
  metadata: undefined,
  configuration: undefined,
  message: message(text, messageId),
})

let gateway: A2aTestGateway
let connection: Awaited<ReturnType<typeof openClient>>
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'a2a-'))
  gateway = await openA2aGateway({ path: join(directory, 'desk.sqlite') })
  connection = await openClient(gateway, gateway.token)
})
afterAll(async () => {
  await connection.close()
  await gateway.close()
  await rm(directory, { recursive: true })
})

test('the official client resolves the card and gets an answer', async () => {
  const card = await connection.client.getAgentCard()
  expect(card.supportedInterfaces[0]?.url).toBe('https://agents.test/agents/echo/a2a')
  expect(card.capabilities).toMatchObject({ streaming: true, pushNotifications: true })
  const task = await connection.client.sendMessage(send('hello', 'sdk-1'))
  if (!('status' in task)) throw new Error('expected a task')
  expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
  expect(task.artifacts[0]?.parts[0]?.content).toEqual({ $case: 'text', value: 'heard: hello' })

  const foundTask = await connection.client.getTask({ tenant: '', id: task.id, historyLength: undefined })
  expect(foundTask.history[0]?.messageId).toBe('sdk-1')
  const list = await connection.client.listTasks({
    tenant: '',
    contextId: task.contextId,
    status: TaskState.TASK_STATE_UNSPECIFIED,
    pageSize: undefined,
    pageToken: '',
    historyLength: undefined,
    statusTimestampAfter: undefined,
    includeArtifacts: undefined,
  })
  expect(list.tasks.map(({ id }) => id)).toEqual([task.id])
})

test('the official client recognizes our errors', async () => {
  const { id } = (await connection.client.sendMessage(send('hello', 'sdk-2'))) as { id: string }
  const cancel = connection.client.cancelTask({ tenant: '', id, metadata: undefined })
  await expect(cancel).rejects.toMatchObject({ name: 'TaskNotCancelableError' })
  const missingTask = connection.client.getTask({ tenant: '', id: 'nothing', historyLength: undefined })
  await expect(missingTask).rejects.toMatchObject({ name: 'TaskNotFoundError' })
})

test('the official client reads the card without a token, and the gateway refuses its call', async () => {
  const stranger = await openClient(gateway, undefined)
  await expect(stranger.client.sendMessage(send('hello', 'sdk-3'))).rejects.toThrow('credentials are missing')
  await stranger.close()
})

test('the official client finds a task again after a restart', async () => {
  const { id } = (await connection.client.sendMessage(send('hello', 'sdk-4'))) as { id: string }
  await gateway.close()
  await connection.close()
  gateway = await openA2aGateway({ path: join(directory, 'desk.sqlite') })
  connection = await openClient(gateway, gateway.token)
  const foundTask = await connection.client.getTask({ tenant: '', id, historyLength: undefined })
  expect(foundTask.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
})
