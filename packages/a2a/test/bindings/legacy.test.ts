import { readFileSync } from 'node:fs'
import { Role, TaskState } from '@a2a-js/sdk'
import { LegacyJsonRpcTransport, parseLegacyAgentCard } from '@a2a-js/sdk/compat/v0_3/client'
import type { Agent } from '@postern/pipeline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { replayExtension } from '../../src/endpoint/extensions.ts'
import type { A2aAnswer, A2aPostOptions, A2aTestGateway } from '../setup/gateway.ts'
import { joinTextParts, openA2aGateway } from '../setup/gateway.ts'
import { listenOnLoopback } from '../setup/listen.ts'
import { readStream } from '../setup/sse.ts'

const says = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const

const agent: Agent = {
  async *handle({ parts }, { signal }) {
    const text = joinTextParts(parts)
    if (text === 'ask') yield { status: 'input_required', parts: [says('which one?')] }
    else if (text === 'hang') await new Promise((_, no) => signal.addEventListener('abort', () => no(signal.reason)))
    else if (text === 'data') {
      const data_base64 = Buffer.from('[1,2]').toString('base64')
      yield { kind: 'artifact', artifact_type: 'data', bytes_ref: { kind: 'inline', data_base64 } }
    } else {
      yield says('heard: ')
      yield says(text)
    }
  },
}

let gateway: A2aTestGateway

beforeAll(async () => {
  gateway = await openA2aGateway({ agents: { desk: agent } })
})
afterAll(() => gateway.close())

/** Sends a request of 0.3, which names no version. */
const rpc = (method: string, params: object, options: A2aPostOptions = {}): Promise<A2aAnswer> =>
  gateway.rpc(method, params, { ...options, headers: { 'a2a-version': '', ...options.headers } })

let unique = 0
function message(text: string, overrides: object = {}) {
  unique += 1
  return { kind: 'message', messageId: `l-${unique}`, role: 'user', parts: [{ kind: 'text', text }], ...overrides }
}

describe('A2A 0.3 on the same endpoint', () => {
  test('answers message/send with a task in the format of 0.3', async () => {
    const sentMessage = message('hi')
    const { body } = await rpc('message/send', { message: sentMessage, configuration: { historyLength: 1 } })
    const { id } = body.result
    expect(body.result).toEqual({
      kind: 'task',
      id,
      contextId: id,
      status: { state: 'completed', timestamp: expect.any(String) },
      artifacts: [{ artifactId: expect.any(String), parts: [{ kind: 'text', text: 'heard: hi' }] }],
      history: [{ ...sentMessage, contextId: id, taskId: id }],
    })
    expect((await rpc('tasks/get', { id, historyLength: 1 })).body.result).toEqual(body.result)
    expect((await rpc('message/send', { message: sentMessage })).body.result.id).toBe(id)
  })

  test('converts files and data in both directions', async () => {
    const parts = [
      { kind: 'file', file: { bytes: 'aGk=', mimeType: 'text/plain', name: 'a.txt' } },
      { kind: 'file', file: { uri: 'https://example.org/b.png', mimeType: 'image/png' } },
      { kind: 'data', data: { a: 1 } },
    ]
    const { body } = await rpc('message/send', { message: message('', { parts }), configuration: { historyLength: 9 } })
    expect(body.result.history[0].parts).toEqual(parts)
    const data = await rpc('message/send', { message: message('data') })
    expect(data.body.result.artifacts[0].parts).toEqual([{ kind: 'data', data: { value: [1, 2] } }])
  })

  async function stream(text: string) {
    const response = await gateway.channel.endpoint.routes.request('/a2a', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.token}` },
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'message/stream', params: { message: message(text) } }),
    })
    const events = (await readStream(response).events()).map(({ id, result }) => {
      expect(id).toBe(7)
      return result
    })
    expect(events[0]).toMatchObject({ kind: 'task' })
    return events.slice(1).filter(({ status }) => status?.state !== 'working')
  }

  test('marks kinds and the final event in message/stream', async () => {
    const [first, ...later] = await stream('hi')
    expect(first).toMatchObject({ kind: 'artifact-update', append: false, artifact: { parts: [{ kind: 'text' }] } })
    expect(later.pop()).toMatchObject({ kind: 'status-update', final: true, status: { state: 'completed' } })
    // On a busy machine the whole answer may overtake its last piece. It then replaces the pieces.
    const text = [first, ...later].reduce((before, { kind, append, lastChunk, artifact }) => {
      expect([kind, typeof lastChunk]).toEqual(['artifact-update', 'boolean'])
      return `${append ? before : ''}${artifact.parts[0].text}`
    }, '')
    expect(text).toBe('heard: hi')
    expect(await stream('data')).toMatchObject([
      { kind: 'artifact-update', append: false, lastChunk: true, artifact: { parts: [{ kind: 'data' }] } },
      { kind: 'status-update', final: true, status: { state: 'completed' } },
    ])
  })

  test('answers at once with blocking: false, ends the task by tasks/cancel, and then refuses tasks/resubscribe', async () => {
    const openTask = await rpc('message/send', { message: message('hang'), configuration: { blocking: false } })
    expect(openTask.body.result.status.state).toMatch(/^(submitted|working)$/)
    const { id } = openTask.body.result
    expect((await rpc('tasks/cancel', { id })).body.result).toMatchObject({
      kind: 'task',
      status: { state: 'canceled' },
    })
    expect((await rpc('tasks/cancel', { id })).body.error?.code).toBe(-32002)
    expect((await rpc('tasks/resubscribe', { id })).body.error?.code).toBe(-32004)
  })

  test('reads and echoes extensions in the header of 0.3', async () => {
    const headers = { 'x-a2a-extensions': replayExtension }
    const answer = await rpc('message/send', { message: message('hi') }, { headers })
    const extensionHeaders = ['x-a2a-extensions', 'a2a-extensions'].map(name => answer.headers.get(name))
    expect(extensionHeaders).toEqual([replayExtension, null])
  })

  test('keeps a question and its answer in one task', async () => {
    const askingTask = (await rpc('message/send', { message: message('ask') })).body.result
    expect(askingTask.status.state).toBe('input-required')
    const secondAnswer = await rpc('message/send', { message: message('this', { taskId: askingTask.id }) })
    expect(secondAnswer.body.result).toMatchObject({ id: askingTask.id, status: { state: 'completed' } })
  })

  test.each([
    ['role of 1.0', { role: 'admin' }, 'message.role'],
    ['an agent’s role', { role: 'agent' }, 'message.role'],
    ['a part of no kind', { parts: [{ text: 'x' }] }, 'message.parts[0]'],
    ['a part of unknown kind', { parts: [{ kind: '__proto__', text: 'x' }] }, 'message.parts[0]'],
    ['parts a string', { parts: 'x' }, 'message.parts'],
    ['messageId a number', { messageId: 5 }, 'message.messageId'],
  ])('follows the same rules: %s', async (_, overrides, field) => {
    const { body } = await rpc('message/send', { message: message('x', overrides) })
    expect(body.error?.code).toBe(-32602)
    expect(body.error?.data[1].fieldViolations[0].field).toBe(field)
  })

  test('stores the request unchanged, without its delivery settings', async () => {
    const configuration = { blocking: true, acceptedOutputModes: ['text'] }
    const params = { message: message('kept'), configuration }
    await rpc('message/send', params)
    expect(gateway.receivedMessages.at(-1)?.raw).toMatchObject({ method: 'message/send', params })
  })
})

describe('a client of 0.3', () => {
  test('finds its card, and sends, streams, gets and cancels over a real socket', async () => {
    const { port, close } = await listenOnLoopback(gateway.channel.endpoint.routes)
    const fetchImpl: typeof fetch = (input, init) => {
      const headers = new Headers(init?.headers)
      headers.set('authorization', `Bearer ${gateway.token}`)
      return fetch(String(input).replace('https://agents.test', `http://127.0.0.1:${port}`), { ...init, headers })
    }
    const raw = await (await fetchImpl('https://agents.test/.well-known/agent.json')).json()
    expect(raw).toMatchObject({
      protocolVersion: '0.3.0',
      url: 'https://agents.test/a2a',
      preferredTransport: 'JSONRPC',
      capabilities: { streaming: true },
      securitySchemes: { bearer: { type: 'http', scheme: 'Bearer' } },
    })
    const endpoint = parseLegacyAgentCard(raw).supportedInterfaces[0]?.url ?? ''
    const client = new LegacyJsonRpcTransport({ endpoint, fetchImpl })
    const content = { $case: 'text', value: 'hello' } as const
    const params = (messageId: string, value = 'hello') => ({
      tenant: '',
      metadata: undefined,
      configuration: undefined,
      message: {
        messageId,
        contextId: '',
        taskId: '',
        role: Role.ROLE_USER,
        parts: [{ content: { ...content, value }, metadata: undefined, filename: '', mediaType: '' }],
        metadata: undefined,
        extensions: [],
        referenceTaskIds: [],
      },
    })
    const result = await client.sendMessage(params('legacy-1'))
    if (!('status' in result)) throw new Error('expected a task')
    expect(result.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
    const task = await client.getTask({ tenant: '', id: result.id, historyLength: undefined })
    expect(task.artifacts[0]?.parts[0]?.content).toEqual({ $case: 'text', value: 'heard: hello' })
    const kinds: (string | undefined)[] = []
    for await (const event of client.sendMessageStream(params('legacy-2'))) kinds.push(event.payload?.$case)
    expect([kinds.at(0), kinds.at(-1)]).toEqual(['task', 'statusUpdate'])
    const cancel = client.cancelTask({ tenant: '', id: result.id, metadata: undefined })
    await expect(cancel).rejects.toMatchObject({ name: 'TaskNotCancelableError' })
    await close()
  })
})

/** The recorded request of a client of 0.3 is refused under 1.0 and understood without a version. */
test.each(['message-under-1.0', 'file-part-under-1.0'])(
  'the gateway accepts fixtures/a2a/a2a-0.3/%s without a version',
  async name => {
    const path = new URL(`../../../../fixtures/a2a/a2a-0.3/${name}/request.json`, import.meta.url)
    const recorded = JSON.parse(readFileSync(path, 'utf8'))
    const params = structuredClone(recorded.params)
    const { body } = await rpc('message/send', params)
    expect(body.error).toBeUndefined()
    expect(body.result.kind).toBe('task')
  },
)
