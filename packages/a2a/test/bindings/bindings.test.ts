import type { SendMessageRequest } from '@a2a-js/sdk'
import { AgentCard, Role, TaskState } from '@a2a-js/sdk'
import type { Transport } from '@a2a-js/sdk/client'
import { JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client'
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc'
import type { Agent, ListeningSocket } from '@postern/pipeline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { joinTextParts, openA2aGateway } from '../setup/gateway.ts'
import { identify } from '../setup/grpc-client.ts'
import { listenOnLoopback } from '../setup/listen.ts'
import type { TestReceiver } from '../setup/receiver.ts'
import { openReceiver } from '../setup/receiver.ts'

const says = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const

const agent: Agent = {
  async *handle({ parts }, { signal }) {
    const text = joinTextParts(parts)
    if (text === 'hang') await new Promise((_, no) => signal.addEventListener('abort', () => no(signal.reason)))
    if (text === 'ask') yield { status: 'input_required', parts: [says('which one?')] }
    else {
      yield says('heard: ')
      yield says(text)
    }
  },
}

let gateway: A2aTestGateway
let receiver: TestReceiver
let server: Awaited<ReturnType<typeof listenOnLoopback>>
let grpc: ListeningSocket | undefined

beforeAll(async () => {
  receiver = await openReceiver()
  const config = { grpc: { port: 0 } }
  gateway = await openA2aGateway({ agents: { desk: agent }, config, loopback: { 'hook.test': receiver.port } })
  server = await listenOnLoopback(gateway.channel.endpoint.routes)
  grpc = await gateway.channel.endpoint.listen?.()
})
afterAll(async () => {
  await grpc?.close()
  await server.close()
  await gateway.close()
  await receiver.close()
})

const fetchImpl: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers)
  headers.set('authorization', `Bearer ${gateway.token}`)
  headers.set('a2a-version', '1.0')
  return fetch(String(input).replace('https://agents.test', `http://127.0.0.1:${server.port}`), { ...init, headers })
}

let unique = 0
function send(value: string, overrides: { taskId?: string; returnImmediately?: boolean } = {}): SendMessageRequest {
  unique += 1
  return {
    tenant: '',
    metadata: undefined,
    configuration: overrides.returnImmediately
      ? {
          acceptedOutputModes: [],
          taskPushNotificationConfig: undefined,
          historyLength: undefined,
          returnImmediately: true,
        }
      : undefined,
    message: {
      messageId: `sdk-${unique}`,
      contextId: '',
      taskId: overrides.taskId ?? '',
      role: Role.ROLE_USER,
      parts: [{ content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' }],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
  }
}

const grpcFactory = new GrpcTransportFactory({ grpcCallOptions: { interceptors: [identify(() => gateway.token)] } })

describe.each([
  ['JSON-RPC', (): string => 'https://agents.test/a2a', new JsonRpcTransportFactory({ fetchImpl })],
  ['HTTP+JSON', (): string => 'https://agents.test/a2a/rest', new RestTransportFactory({ fetchImpl })],
  ['gRPC', (): string => `127.0.0.1:${grpc?.port}`, grpcFactory],
] as const)('the official client over %s', (_, urlOf, factory) => {
  let client: Transport
  const startTask = async (text: string, overrides: Parameters<typeof send>[1] = {}) => {
    const result = await client.sendMessage(send(text, overrides))
    if (!('status' in result)) throw new Error('expected a task')
    return result
  }
  beforeAll(async () => {
    const card = await (await fetchImpl('https://agents.test/.well-known/agent-card.json')).json()
    client = await factory.create(urlOf(), AgentCard.fromJSON(card))
  })

  test('sends, gets and lists', async () => {
    const task = await startTask('hello')
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
    expect(task.artifacts[0]?.parts[0]?.content).toEqual({ $case: 'text', value: 'heard: hello' })
    const foundTask = await client.getTask({ tenant: '', id: task.id, historyLength: 1 })
    expect(foundTask.history).toHaveLength(1)
    const list = await client.listTasks({
      tenant: '',
      contextId: task.contextId,
      status: TaskState.TASK_STATE_COMPLETED,
      pageSize: 10,
      pageToken: '',
      historyLength: undefined,
      statusTimestampAfter: undefined,
      includeArtifacts: true,
    })
    expect(list.tasks.map(({ id }) => id)).toEqual([task.id])
    expect(list.tasks[0]?.artifacts).toHaveLength(1)
  })

  test('streams', async () => {
    const kinds: (string | undefined)[] = []
    let text = ''
    for await (const { payload } of client.sendMessageStream(send('hello'))) {
      kinds.push(payload?.$case)
      if (payload?.$case !== 'artifactUpdate') continue
      for (const { content } of payload.value.artifact?.parts ?? [])
        if (content?.$case === 'text') text += content.value
    }
    expect([kinds.at(0), kinds.at(-1)]).toEqual(['task', 'statusUpdate'])
    expect(text).toBe('heard: hello')
  })

  test('subscribes and receives the follow-up to a question', async () => {
    const { id } = await startTask('ask')
    const states: (TaskState | undefined)[] = []
    for await (const { payload } of client.resubscribeTask({ tenant: '', id })) {
      if (payload?.$case === 'task') {
        states.push(payload.value.status?.state)
        void startTask('this', { taskId: id })
      }
      if (payload?.$case === 'statusUpdate') states.push(payload.value.status?.state)
    }
    expect(states.at(0)).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
    expect(states.at(-1)).toBe(TaskState.TASK_STATE_COMPLETED)
  })

  test('cancels, once', async () => {
    const { id } = await startTask('hang', { returnImmediately: true })
    const params = { tenant: '', id, metadata: undefined }
    expect((await client.cancelTask(params)).status?.state).toBe(TaskState.TASK_STATE_CANCELED)
    await expect(client.cancelTask(params)).rejects.toMatchObject({ name: 'TaskNotCancelableError' })
    const missingTask = client.getTask({ tenant: '', id: 'nothing', historyLength: undefined })
    await expect(missingTask).rejects.toMatchObject({ name: 'TaskNotFoundError' })
    await expect(client.resubscribeTask(params).next()).rejects.toMatchObject({ name: 'UnsupportedOperationError' })
  })

  test('receives notifications', async () => {
    const { id: taskId } = await startTask('ask')
    const authentication = { scheme: 'Bearer', credentials: 'x' }
    const config = { tenant: '', id: 'sdk', taskId, url: 'https://hook.test/', token: 't', authentication }
    const createdConfig = await client.createTaskPushNotificationConfig(config)
    expect(createdConfig).toMatchObject({ id: 'sdk', taskId, url: 'https://hook.test/', token: 't' })
    const key = { tenant: '', taskId, id: 'sdk' }
    expect(await client.getTaskPushNotificationConfig(key)).toEqual(createdConfig)
    const list = await client.listTaskPushNotificationConfig({ tenant: '', taskId, pageSize: 0, pageToken: '' })
    expect(list.configs).toEqual([createdConfig])
    const before = receiver.pushes.length
    await startTask('this', { taskId })
    await expect.poll(() => receiver.pushes.length).toBe(before + 1)
    expect(JSON.parse(receiver.pushes.at(-1)?.text ?? '')).toMatchObject({ task: { id: taskId } })
    await client.deleteTaskPushNotificationConfig(key)
    await expect(client.getTaskPushNotificationConfig(key)).rejects.toMatchObject({ name: 'TaskNotFoundError' })
  })
})
