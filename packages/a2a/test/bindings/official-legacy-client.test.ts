import type { Agent } from '@postern/pipeline'
import type { Message, Task } from 'a2a-sdk-03'
import type { Client } from 'a2a-sdk-03/client'
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from 'a2a-sdk-03/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { joinTextParts, openA2aGateway } from '../setup/gateway.ts'
import { listenOnLoopback } from '../setup/listen.ts'
import type { TestReceiver } from '../setup/receiver.ts'
import { openReceiver } from '../setup/receiver.ts'

const says = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const

const agent: Agent = {
  async *handle({ parts }, { signal }) {
    const text = joinTextParts(parts)
    if (text === 'hang') await new Promise((_, no) => signal.addEventListener('abort', () => no(signal.reason)))
    else if (text === 'ask') yield { status: 'input_required', parts: [says('which one?')] }
    else {
      yield says('heard: ')
      yield says(text)
    }
  },
}

let gateway: A2aTestGateway
let server: Awaited<ReturnType<typeof listenOnLoopback>>
let receiver: TestReceiver
let client: Client
const requestedUrls: string[] = []

/** The client runs unchanged: it knows only the origin and looks for the card at its usual path. */
beforeAll(async () => {
  receiver = await openReceiver()
  gateway = await openA2aGateway({ agents: { desk: agent }, loopback: { 'hook.test': receiver.port } })
  server = await listenOnLoopback(gateway.channel.endpoint.routes)
  const fetchImpl: typeof fetch = (input, init) => {
    const url = String(input instanceof Request ? input.url : input)
    requestedUrls.push(new URL(url).pathname)
    const headers = new Headers(init?.headers)
    headers.set('authorization', `Bearer ${gateway.token}`)
    return fetch(url.replace('https://agents.test', `http://127.0.0.1:${server.port}`), { ...init, headers })
  }
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  })
  client = await new ClientFactory(options).createFromUrl('https://agents.test')
})
afterAll(async () => {
  await server.close()
  await gateway.close()
  await receiver.close()
})

let unique = 0
function message(text: string, overrides: Partial<Message> = {}): Message {
  unique += 1
  return { kind: 'message', messageId: `old-${unique}`, role: 'user', parts: [{ kind: 'text', text }], ...overrides }
}

async function startTask(
  text: string,
  overrides: { readonly blocking?: boolean; readonly taskId?: string } = {},
): Promise<Task> {
  const { blocking, ...ids } = overrides
  const configuration = blocking === undefined ? {} : { configuration: { blocking } }
  const result = await client.sendMessage({ message: message(text, ids), ...configuration })
  if (result.kind !== 'task') throw new Error('expected a task')
  return result
}

test('a client of 0.3.14 finds the card at its default path', async () => {
  expect(requestedUrls[0]).toBe('/.well-known/agent-card.json')
  // The client has requested the extended card by now, in its own form.
  const card = await client.getAgentCard()
  expect(card).toMatchObject({
    protocolVersion: '0.3.0',
    url: 'https://agents.test/agents/desk/a2a',
    securitySchemes: { bearer: { type: 'http', scheme: 'Bearer' } },
  })
  expect(JSON.stringify(card.capabilities.extensions)).toContain('urn:postern:a2a:limits:v1')
})

test('a client of 0.3.14 sends and gets', async () => {
  const task = await startTask('hello')
  expect(task.status.state).toBe('completed')
  expect(task.artifacts?.[0]?.parts).toEqual([{ kind: 'text', text: 'heard: hello' }])
  expect((await client.getTask({ id: task.id, historyLength: 5 })).history).toMatchObject([{ role: 'user' }])
  await expect(client.getTask({ id: 'none' })).rejects.toMatchObject({ name: 'TaskNotFoundError' })
})

test('a client of 0.3.14 streams to the final event', async () => {
  const events = []
  for await (const event of client.sendMessageStream({ message: message('hello') })) events.push(event)
  expect(events.at(0)).toMatchObject({ kind: 'task' })
  expect(events.at(-1)).toMatchObject({ kind: 'status-update', final: true, status: { state: 'completed' } })
  const artifactParts = events.flatMap(event => (event.kind === 'artifact-update' ? event.artifact.parts : []))
  expect(artifactParts.map(part => (part.kind === 'text' ? part.text : '')).join('')).toBe('heard: hello')
})

test('a client of 0.3.14 continues after a question, and resubscribes', async () => {
  const { id } = await startTask('ask')
  const states: string[] = []
  for await (const event of client.resubscribeTask({ id })) {
    if (event.kind === 'task') void startTask('this', { taskId: id })
    if (event.kind === 'task' || event.kind === 'status-update') states.push(event.status.state)
  }
  expect([states.at(0), states.at(-1)]).toEqual(['input-required', 'completed'])
})

test('a client of 0.3.14 cancels once', async () => {
  const { id } = await startTask('hang', { blocking: false })
  expect((await client.cancelTask({ id })).status.state).toBe('canceled')
  await expect(client.cancelTask({ id })).rejects.toMatchObject({ name: 'TaskNotCancelableError' })
})

test('a client of 0.3.14 receives notifications', async () => {
  const { id: taskId } = await startTask('ask')
  const pushNotificationConfig = { id: 'old', url: 'https://hook.test/', token: 't' }
  const key = { id: taskId, pushNotificationConfigId: 'old' }
  const createdConfig = await client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig })
  expect(createdConfig).toMatchObject({ taskId, pushNotificationConfig })
  expect(await client.getTaskPushNotificationConfig(key)).toEqual(createdConfig)
  expect(await client.listTaskPushNotificationConfig({ id: taskId })).toEqual([createdConfig])
  const before = receiver.pushes.length
  await startTask('this', { taskId })
  await expect.poll(() => receiver.pushes.length).toBe(before + 1)
  await client.deleteTaskPushNotificationConfig(key)
  expect(await client.listTaskPushNotificationConfig({ id: taskId })).toEqual([])
})
