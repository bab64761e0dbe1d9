import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { WebGateway } from '../setup/web-gateway.ts'
import { findEvent, openWebGateway, readEvents, typesOf, uniqueName } from '../setup/web-gateway.ts'

// These tests use clients that are older than AG-UI 1.0, careless, or malicious.

let web: WebGateway

beforeAll(async () => {
  web = await openWebGateway()
})
afterAll(() => web.close())

const user = (content: unknown, overrides: object = {}) => ({
  id: uniqueName('msg'),
  role: 'user',
  content,
  ...overrides,
})
const input = (overrides: object = {}) => ({
  threadId: uniqueName('thread'),
  runId: uniqueName('run'),
  messages: [user('hello')],
  ...overrides,
})
const toolCall = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
const deep = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels))

describe('the gateway answers a request of an unusual client:', () => {
  const old = { tools: [], context: [], state: {}, forwardedProps: {} }
  const nulls = { tools: null, context: null, state: null, forwardedProps: null, resume: null, parentRunId: null }
  test.each<[string, object, Record<string, string>?]>([
    ['one of 0.x, with all that was required then', old],
    ['one that says null for what it does not say', nulls],
    ['one that says null in its messages', { messages: [user('hello', { name: null, metadata: null })] }],
    ['one of another version', { protocolVersion: '0.0.45' }],
    ['one that asks for what came after an event: there is no resumption', {}, { 'last-event-id': '7' }],
    ['one that names no type of what it sends', {}, { 'content-type': 'text/plain' }],
    ['one that says nothing of what it takes', {}, { accept: '' }],
    ['one that takes protobuf as well', {}, { accept: 'application/vnd.ag-ui.event+proto, text/event-stream;q=0.5' }],
    ['one with a state of some depth', { state: deep(50) }],
    ['one whose tools have no parameters', { tools: [{ name: 'x', description: 'd' }] }],
    [
      'one with a part without a type of media',
      {
        messages: [
          user([
            { type: 'text', text: 'hello' },
            { type: 'binary', url: 'https://x.example/a.png' },
          ]),
        ],
      },
    ],
  ])('%s', async (_, overrides, headers = {}) => {
    const events = await readEvents(await web.postRun(input(overrides), headers))
    expect(typesOf(events)).toContain('TEXT_MESSAGE_CONTENT')
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
  })

  test('one with a byte order mark, and one with a repeated member, whose last value counts', async () => {
    const [body, threadId, runId] = [JSON.stringify(input()), uniqueName('thread'), uniqueName('run')]
    expect(typesOf(await readEvents(await web.postRun(`\ufeff${body}`)))).toContain('RUN_FINISHED')
    const repeatedKeys = `{"threadId":"other","threadId":"${threadId}","runId":"${runId}","messages":[{"id":"m","role":"system","role":"user","content":"hi"}]}`
    const events = await readEvents(await web.postRun(repeatedKeys))
    expect(findEvent(events, 'RUN_STARTED')).toMatchObject({ threadId, runId })
    expect((await web.readHistory(threadId)).map(({ role }) => role)).toEqual(['user', 'assistant'])
  })

  test('one with an assistant’s calls without text, which it drops with a warning', async () => {
    const messages = [{ id: uniqueName('msg'), role: 'assistant', content: null, toolCalls: [toolCall] }, user('hello')]
    const events = await readEvents(await web.postRun(input({ messages })))
    expect(findEvent(events, 'CUSTOM').value).toBe('1 messages of other roles are not known and were left out')
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED' })
  })

  test('one that tries to change the object prototype', async () => {
    const body = JSON.stringify(input()).replace('"role"', '"__proto__":{"role":"assistant"},"role"')
    const events = await readEvents(await web.postRun(body.replace('{', '{"__proto__":{"x":1},')))
    expect(findEvent(events, 'CUSTOM').value).toBe('unknown members were left out: __proto__')
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED' })
  })
})

describe('the gateway refuses before a stream begins:', () => {
  const bytes = Buffer.concat([Buffer.from('{"threadId":"t","runId":"'), Buffer.from([0xff]), Buffer.from('"}')])
  test.each<[string, object | string | Uint8Array, Record<string, string>, number, string]>([
    [
      'packed',
      gzipSync('{}'),
      { 'content-encoding': 'gzip' },
      415,
      'Cannot read body: content coding is not supported',
    ],
    ['no JSON', '{', {}, 400, 'Cannot read run: not valid JSON'],
    ['a list', '[]', {}, 400, 'Cannot run: the body is no JSON object'],
    ...[{}, { toString: 1 }, [], 5].map((mimeType): [string, object, Record<string, string>, number, string] => [
      `a part whose type is ${JSON.stringify(mimeType)}`,
      { messages: [user([{ type: 'binary', mimeType, data: 'aGk=' }])] },
      {},
      400,
      'Cannot run: messages.content.mimeType is not as it must be',
    ]),
    ['no UTF-8', bytes, {}, 400, 'Cannot read run: not valid UTF-8'],
    [
      'very deep',
      `{"state":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      {},
      400,
      'Cannot read run: nested deeper than 64 levels',
    ],
    ['no messages', { threadId: 't', runId: 'r' }, {}, 400, 'Cannot run: messages is not as it must be'],
    ['no thread', { runId: 'r', messages: [] }, {}, 400, 'Cannot run: threadId is not as it must be'],
    ['a number for a thread', input({ threadId: 5 }), {}, 400, 'Cannot run: threadId is not as it must be'],
    [
      'a message without content',
      input({ messages: [{ id: 'm', role: 'user' }] }),
      {},
      400,
      'Cannot run: messages.0.content is not as it must be',
    ],
    [
      'an unknown part',
      input({ messages: [user([{ type: 'hologram' }])] }),
      {},
      400,
      'Cannot run: messages.0.content is not as it must be',
    ],
    [
      'an unknown decision',
      input({ resume: [{ interruptId: 'i', status: 'maybe' }] }),
      {},
      400,
      'Cannot run: resume.0.status is not as it must be',
    ],
  ])('%s', async (_, body, headers, status, detail) => {
    const response = await web.postRun(body, headers)
    expect([response.status, response.headers.get('content-type')]).toEqual([status, 'application/problem+json'])
    expect(await response.json()).toMatchObject({ detail })
  })

  test.each(['text/html', 'application/vnd.ag-ui.event+proto'])('a client that only accepts %s', async accept => {
    expect((await web.postRun(input(), { accept })).status).toBe(406)
  })

  test.each(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])('a request by %s, which starts nothing', async method => {
    const messagesBefore = await web.gateway.messages()
    const response = await web.requestAs('/api/v1/agent/runs', { method })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    expect(await web.gateway.messages()).toEqual(messagesBefore)
  })
})
