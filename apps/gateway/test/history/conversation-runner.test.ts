import type { IncomingMessage, Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operatorToken } from '../setup/gateway.ts'
import { askShop } from '../setup/requirement-steps.ts'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway, uniqueName } from '../setup/web-gateway.ts'

// These tests put another runtime behind an agent, which exchanges message envelopes: a real server, asked in real runs.

interface Request {
  readonly messages: readonly { readonly type: string; readonly role: string; readonly content: unknown }[]
  readonly [member: string]: unknown
}

let answerWith: (request: Request) => unknown = () => null
const requests: Request[] = []
let runtime: Server
let web: WebGateway

beforeAll(async () => {
  runtime = createServer(async (request, response) => {
    const body = JSON.parse(await readText(request)) as Request
    requests.push(body)
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answerWith(body)))
  })
  await new Promise<void>(resolve => runtime.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(runtime.address() as AddressInfo).port}/run`
  const runner = { use: 'webhook', url, secret: 'shared secret', format: 'conversation' }
  web = await openWebGateway({}, { agents: { chat: runner, shop: runner }, default_agent: 'chat' })
})
afterAll(async () => {
  await web.close()
  await new Promise(resolve => runtime.close(resolve))
})

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

interface Exported {
  readonly type: string
  readonly role: string
  readonly content: unknown
  readonly payload: Readonly<Record<string, unknown>>
}

/** Returns the newest conversation of the chat as envelopes. */
async function exportNewest(): Promise<readonly Exported[]> {
  const [newest] = await web.gateway.messages()
  const query = new URLSearchParams({ format: 'envelope', thread: newest?.id ?? '' })
  const headers = { authorization: `Bearer ${operatorToken}` }
  const response = await fetch(`${web.gateway.url()}/operator/api/transcript?${query}`, { headers })
  return ((await response.json()) as { messages: readonly Exported[] }).messages
}

const envelope = { schema: 'agents-api.message', version: 1, payload: {}, metadata: {} }
const textEnvelope = (content: string) => ({ ...envelope, type: 'text', role: 'assistant', content })

describe('a runner that uses envelopes', () => {
  test('gets the conversation as canonical envelopes, and may answer with any mix of rows and envelopes (E-28, E-31, E-44)', async () => {
    const threadId = uniqueName('thread')
    answerWith = ({ messages }) => ({
      messages: [
        ...messages,
        {
          role: 'assistant',
          content: 'Looking.',
          metadata: { type: 'tool_call', tool_name: 'look', parameters: { at: 'it' } },
        },
        {
          role: 'tool',
          content: 'seen',
          metadata: { type: 'tool_result', tool_name: 'look', success: true, tool_data: { seen: 1 } },
        },
        textEnvelope('It is there.'),
        { ...envelope, type: 'final_result', role: 'assistant', content: 'It is there.' },
      ],
      final_content: 'It is there.',
      completed: true,
      turn_count: 2,
      tool_execution_results: [{ tool_name: 'look', parameters: { at: 'secret' }, result: { seen: 1 }, turn_count: 1 }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    })
    const events = await web.runChat('Where is it?', { threadId })
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
    const [user, answer] = await web.readHistory(threadId)
    expect([user?.content, answer?.content]).toEqual(['Where is it?', 'It is there.'])
    // The report has the names and counts of the tools that ran.
    expect(answer?.metadata.report).toMatchObject({
      tool_observability: [{ tool_name: 'look', argument_names: ['at'] }],
    })
    expect(JSON.stringify(answer?.metadata)).not.toContain('secret')

    const firstRequest = requests.at(-1)
    expect(firstRequest?.messages).toMatchObject(
      [{ ...envelope, metadata: {}, type: 'text', role: 'user', content: 'Where is it?' }].map(
        ({ metadata: _, ...otherMembers }) => otherMembers,
      ),
    )
    expect(firstRequest).toMatchObject({ mode: 'chat', tools: [], max_turns: 20, payload: { agent: 'chat' } })
    const exported = await exportNewest()
    expect(exported.map(({ type, role }) => [type, role])).toEqual([
      ['text', 'user'],
      ['tool_call', 'assistant'],
      ['tool_result', 'tool'],
      ['text', 'assistant'],
    ])
    for (const entry of exported)
      expect(Object.keys(entry)).toEqual(expect.arrayContaining(['schema', 'version', 'payload', 'metadata']))

    answerWith = () => ({ messages: [textEnvelope('Still there.')] })
    await web.runChat('And now?', { threadId })
    expect(requests.at(-1)?.messages.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'Where is it?'],
      ['assistant', 'It is there.'],
      ['user', 'And now?'],
    ])
    expect((await web.readHistory(threadId)).at(-1)?.content).toBe('Still there.')
  })

  test('waits for an answer, which is the next message of the thread (E-40)', async () => {
    const threadId = uniqueName('thread')
    answerWith = ({ messages }) => ({
      messages: [...messages, { ...envelope, type: 'input_required', content: 'Which colour?' }],
      completed: false,
    })
    const events = await web.runChat('Paint it', { threadId })
    expect(events.at(-1)).toMatchObject({ outcome: { type: 'interrupt', interrupts: [{ message: 'Which colour?' }] } })
    answerWith = ({ messages }) => ({
      messages: [...messages, textEnvelope(`Painted ${String(messages.at(-1)?.content)}.`)],
    })
    await web.runChat('red', { threadId })
    expect((await web.readHistory(threadId)).at(-1)?.content).toBe('Painted red.')
  })

  const prefix = 'invalid_agent_conversation_result:'
  const unusable: readonly (readonly [id: string, result: unknown, reason: string])[] = [
    ['E-29: has no messages', { final_content: 'leaked' }, `${prefix} messages must be an array`],
    ['E-29: has text for messages', { messages: 'leaked' }, `${prefix} messages must be an array`],
    ['E-29: is text', 'leaked', `${prefix} result must be an object`],
    [
      'E-29: has a message that is none',
      { messages: [textEnvelope('leaked'), { role: '' }] },
      `${prefix} messages[1]: `,
    ],
    ['E-29: says that it failed', { messages: [textEnvelope('leaked')], error: 'out of memory' }, 'out of memory'],
    [
      'E-29: has an error among its messages',
      { messages: [textEnvelope('leaked'), { ...textEnvelope('broken'), type: 'error' }] },
      'broken',
    ],
    ['E-29: leaves it to a loop that is not there', null, 'no loop here'],
    ['E-29: says nothing', { messages: [] }, 'answered nothing'],
  ]
  test.each(unusable)(
    'fails the run for %s, while the conversation keeps the message without an answer',
    async (_, result, reason) => {
      const threadId = uniqueName('thread')
      answerWith = () => result
      const events = await web.runChat('Hello?', { threadId })
      expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR' })
      expect(JSON.stringify(events)).not.toMatch(/leaked|broken|memory/)
      const history = await web.readHistory(threadId)
      expect(history[0]).toMatchObject({ role: 'user', content: 'Hello?' })
      expect(JSON.stringify(history)).not.toMatch(/leaked|broken|memory/)
      const exported = await exportNewest()
      expect(exported[0]).toMatchObject({ type: 'text', role: 'user', content: 'Hello?' })
      expect(exported.slice(1).map(({ role, content }) => [role, content])).toEqual([
        ['assistant', expect.stringMatching(/^Sorry, this could not be answered\. Reference: [0-9a-f]{16}$/)],
      ])
      expect(JSON.stringify(exported)).not.toMatch(/leaked|broken|memory/)
      // The operator learns the reason.
      const [newest] = await web.gateway.messages()
      expect(JSON.stringify(await web.gateway.readMessage(newest?.id ?? ''))).toContain(reason)

      // The next request to the runner contains nothing of the failed turn.
      answerWith = ({ messages }) => ({ messages: [...messages, textEnvelope('Here.')] })
      await web.runChat('Once more', { threadId })
      expect(JSON.stringify(requests.at(-1))).not.toMatch(/leaked|broken|memory/)
      expect((await web.readHistory(threadId)).at(-1)?.content).toBe('Here.')
    },
  )

  test('fails the task over A2A, without an artifact (E-29)', async () => {
    answerWith = () => ({ final_content: 'leaked' })
    const { task } = await askShop(web.gateway, 'Hello?')
    expect([task?.status.state, task?.artifacts ?? []]).toEqual(['TASK_STATE_FAILED', []])
    expect(JSON.stringify(task)).not.toContain('leaked')
  })
})

describe('a session in the format of a model provider', () => {
  const callRow = {
    role: 'assistant',
    content: '',
    metadata: { type: 'tool_call', tool_name: 'look', parameters: { a: 1 }, turn: 1 },
  }
  const resultRow = {
    role: 'tool',
    content: 'seen',
    metadata: { type: 'tool_result', tool_name: 'look', success: true },
  }

  async function project(messages: readonly unknown[], query = '') {
    const { json } = await web.requestJson('POST', '/v1/sessions', { context: uniqueName('context') })
    const path = `/v1/sessions/${json.session_id}`
    await web.requestJson('PUT', path, { messages })
    return { path, ...(await web.requestJson('GET', `${path}/provider${query}`)).json }
  }

  test.each([
    ['E-24: bare text as it is', { role: 'user', content: 'hi' }, { role: 'user', content: 'hi' }],
    [
      'E-25: text with metadata says its type',
      { role: 'user', content: 'hi', metadata: { a: 1 } },
      { role: 'user', content: 'hi', metadata: { a: 1, type: 'text' } },
    ],
  ])('%s', async (_, row, projected) => {
    expect((await project([row])).messages).toEqual([projected])
  })

  test('prefers the envelope’s type to members of its metadata, and these to members of the payload (E-26)', async () => {
    const call = {
      ...envelope,
      type: 'tool_call',
      role: 'assistant',
      content: '',
      payload: { tool_name: 'p', turn: 1 },
    }
    const { messages } = await project([
      { ...call, metadata: { type: 'text', tool_name: 'm', tool_call_id: 'c1' } },
      { ...resultRow, metadata: { ...resultRow.metadata, tool_call_id: 'c1' } },
    ])
    expect(messages[0].metadata).toEqual({ type: 'tool_call', tool_name: 'm', tool_call_id: 'c1', turn: 1 })
  })

  test('gives a stored answer the same form again (E-27)', async () => {
    const { path, messages } = await project([callRow, resultRow, { role: 'user', content: ['a', 'b'] }])
    await web.requestJson('PUT', path, { messages: (await web.requestJson('GET', path)).json.messages })
    expect((await web.requestJson('GET', `${path}/provider`)).json.messages).toEqual(messages)
  })

  test('merges neighbours of one role if the provider refuses them, without changing the stored list (E-32)', async () => {
    const text = { role: 'assistant', content: 'Let me look.' }
    const { path, messages } = await project(
      [{ role: 'user', content: 'hi' }, text, callRow, resultRow],
      '?coalesce=true',
    )
    expect(messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant', 'tool'])
    expect(messages[1].metadata.parts).toMatchObject([{ type: 'text', content: 'Let me look.' }, { type: 'tool_call' }])
    expect((await web.requestJson('GET', path)).json.messages).toHaveLength(4)
  })

  test('omits single calls and results and names them, without changing the stored list (E-33)', async () => {
    const otherRow = { ...resultRow, metadata: { ...resultRow.metadata, tool_name: 'other' } }
    const { path, messages, findings } = await project([{ role: 'user', content: 'hi' }, callRow, otherRow])
    expect(messages).toEqual([{ role: 'user', content: 'hi' }])
    expect(findings).toMatchObject([
      { code: 'orphan_tool_call', index: 1, tool_name: 'look' },
      { code: 'orphan_tool_result', index: 2, tool_name: 'other' },
    ])
    expect((await web.requestJson('GET', path)).json.messages).toHaveLength(3)
  })

  test('is hidden from everybody else (E-37)', async () => {
    const { path } = await project([{ role: 'user', content: 'hi' }])
    expect((await web.requestJson('GET', `${path}/provider`, undefined, 'bob')).status).toBe(404)
    expect((await web.requestJson('GET', '/v1/sessions/none/provider')).status).toBe(404)
  })
})
