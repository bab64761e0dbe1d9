import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operatorToken } from '../setup/gateway.ts'
import type { JsonAnswer, WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway, uniqueName } from '../setup/web-gateway.ts'

// These tests cover message envelopes for clients that keep their sessions here: sent as a list, and read back.

let web: WebGateway
let sessionPath: string

beforeAll(async () => {
  web = await openWebGateway()
  sessionPath = await openSession()
})
afterAll(() => web.close())

async function openSession(): Promise<string> {
  const { json } = await web.requestJson('POST', '/v1/sessions', { context: uniqueName('context') })
  return `/v1/sessions/${json.session_id}`
}

const putMessages = (messages: readonly unknown[], path = sessionPath) => web.requestJson('PUT', path, { messages })

async function storeAndRead(row: object): Promise<JsonAnswer> {
  const { status } = await putMessages([row])
  expect(status).toBe(200)
  const { json } = await web.requestJson('GET', sessionPath)
  return json.messages[0]
}

const envelopeHeader = { schema: 'agents-api.message', version: 1 }
const bareEnvelope = { ...envelopeHeader, type: 'text', role: 'assistant', content: '', payload: {}, metadata: {} }
const toolCallMetadata = { type: 'tool_call', tool_name: 'wiki_upsert', parameters: { title: 'Example' }, turn: 1 }
const toolCallRow = {
  role: 'assistant',
  content: 'AI ACTION (Turn 1): Executing Wiki Upsert',
  metadata: toolCallMetadata,
}
const callPayload = { tool_name: 'wiki_upsert', parameters: { title: 'Example' }, turn: 1 }
const toolResultPayload = { tool_name: 't', success: false, turn: 2, tool_data: { a: 1 }, media: [1], error: null }
const rowOfType = (type: string) => ({ content: '', metadata: { type } })

type EnvelopeCase = readonly [id: string, title: string, row: object, envelope: object]

/** Rows that a client sends, and the envelopes that the class of the original API returns for them. */
const envelopeCases: readonly EnvelopeCase[] = [
  ['E-01', 'a plain row', { role: 'user', content: 'hi' }, { ...bareEnvelope, role: 'user', content: 'hi' }],
  [
    'E-02',
    'the published tool call',
    toolCallRow,
    { ...envelopeHeader, type: 'tool_call', ...toolCallRow, payload: callPayload },
  ],
  [
    'E-03',
    'a tool result',
    { metadata: { type: 'tool_result', ...toolResultPayload, extra: 1 } },
    {
      ...bareEnvelope,
      type: 'tool_result',
      role: 'tool',
      payload: toolResultPayload,
      metadata: { type: 'tool_result', ...toolResultPayload, extra: 1 },
    },
  ],
  [
    'E-04',
    'a call id',
    { ...toolCallRow, metadata: { ...toolCallMetadata, tool_call_id: 'c1' } },
    {
      ...envelopeHeader,
      ...toolCallRow,
      type: 'tool_call',
      payload: callPayload,
      metadata: { ...toolCallMetadata, tool_call_id: 'c1' },
    },
  ],
  ...['tool_result', 'approval_required', 'input_required'].map<EnvelopeCase>(type => [
    'E-05',
    type,
    rowOfType(type),
    { ...bareEnvelope, type, role: 'tool', metadata: { type } },
  ]),
  ...['text', 'tool_call', 'final_result', 'error', 'delta', 'multimodal_part'].map<EnvelopeCase>(type => [
    'E-06',
    type,
    rowOfType(type),
    { ...bareEnvelope, type, metadata: { type } },
  ]),
  ['E-08', 'role wizard', { role: 'wizard', content: 'x' }, { ...bareEnvelope, role: 'wizard', content: 'x' }],
  ['E-09', 'no content', { role: 'user' }, { ...bareEnvelope, role: 'user' }],
  ['E-09', 'content null', { role: 'user', content: null }, { ...bareEnvelope, role: 'user' }],
  ['E-10', 'a list', { content: ['a'] }, { ...bareEnvelope, type: 'multimodal_part', content: ['a'] }],
  [
    'E-11',
    'a list that is a text',
    { content: ['a'], metadata: { type: 'text' } },
    { ...bareEnvelope, content: ['a'], metadata: { type: 'text' } },
  ],
  ...(
    [
      ['boom', 'error'],
      [null, 'text'],
      [false, 'error'],
    ] as const
  ).map<EnvelopeCase>(([error, type]) => [
    'E-12',
    `error ${error}`,
    { metadata: { error } },
    { ...bareEnvelope, type, metadata: { error } },
  ]),
  [
    'E-13',
    'no version',
    { schema: envelopeHeader.schema, type: 'tool_call', payload: { tool_name: 't' } },
    { ...bareEnvelope, type: 'tool_call', payload: { tool_name: 't' } },
  ],
  ['E-14', 'version and type alone', { version: 1, type: 'tool_call' }, bareEnvelope],
  ['E-15', 'version "1"', { version: '1', type: 'text', payload: {} }, bareEnvelope],
  ['E-16', 'another schema', { schema: 'other', version: 1, type: 'text' }, bareEnvelope],
  [
    'E-18',
    'a row of an unknown type',
    { metadata: { type: 'banana' } },
    { ...bareEnvelope, metadata: { type: 'banana' } },
  ],
  [
    'E-19',
    'data',
    { ...envelopeHeader, type: 'delta', data: { index: 0 } },
    { ...bareEnvelope, type: 'delta', payload: { index: 0 } },
  ],
  [
    'E-20',
    'data beside a payload',
    { ...envelopeHeader, type: 'delta', data: { index: 0 }, payload: { a: 1 } },
    { ...bareEnvelope, type: 'delta', payload: { a: 1 } },
  ],
  [
    'E-20',
    'data beside an empty payload',
    { ...envelopeHeader, type: 'delta', data: { index: 0 }, payload: {} },
    { ...bareEnvelope, type: 'delta', payload: { index: 0 } },
  ],
  ['E-21', 'empty maps as lists', { ...envelopeHeader, type: 'text', payload: [], metadata: [] }, bareEnvelope],
  ['E-22', 'members that an envelope does not have', { id: 7, created_at: 123, foo: 1 }, bareEnvelope],
]

describe('a message of a list returns as the envelope of', () => {
  test.each(envelopeCases)('%s: %s', async (_, __, row, envelope) => {
    expect(await storeAndRead(row)).toEqual(envelope)
    // E-27, E-31: a stored envelope is stored again unchanged.
    expect(await storeAndRead(envelope)).toEqual(envelope)
  })
})

const errorPrefix = 'invalid_ai_message_envelope:'
const refusals: readonly (readonly [id: string, row: unknown, reason: string])[] = [
  ['E-07', { role: '' }, 'role must be a non-empty string'],
  ['E-07', { role: 7 }, 'role must be a non-empty string'],
  ['E-09', { role: 'user', content: 5 }, 'content must be a string or array'],
  ['E-09', { role: 'user', content: false }, 'content must be a string or array'],
  ['E-15', { version: 2, type: 'text', payload: {} }, 'unsupported version'],
  ['E-17', { ...envelopeHeader, type: 'banana', payload: {} }, 'unsupported type'],
  ['E-23', { role: 'user', content: '\ud800' }, 'envelope must be JSON serializable'],
  ['E-23', 'hi', 'message must be an array'],
]

describe('a list with one invalid message', () => {
  test.each(refusals)('gets a refusal by %s for %j, and the stored list stays unchanged', async (_, row, reason) => {
    await putMessages([{ role: 'user', content: 'kept' }])
    const answer = await putMessages([{ role: 'user', content: 'new' }, row])
    expect([answer.status, answer.json.code, answer.json.detail]).toEqual([
      400,
      'malformed',
      `${errorPrefix} ${reason}`,
    ])
    const { json } = await web.requestJson('GET', sessionPath)
    expect(json.messages.map(({ content }: { content: string }) => content)).toEqual(['kept'])
  })

  test('that is not UTF-8 gets a refusal before any other check (E-23)', async () => {
    const bytes = Buffer.concat([Buffer.from('{"messages":[{"role":"user","content":"'), Buffer.from([0xff])])
    const response = await web.requestAs(sessionPath, {
      method: 'PUT',
      body: Buffer.concat([bytes, Buffer.from('"}]}')]),
    })
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { detail: 'Cannot read body: not valid UTF-8' },
    ])
  })
})

describe('a session', () => {
  test('stores and shows envelopes for any mix of rows and envelopes (E-28, E-30)', async () => {
    const mix = [
      toolCallRow,
      { ...envelopeHeader, type: 'text', role: 'user', content: 'x' },
      { role: 'user', content: 'y' },
    ]
    await putMessages(mix)
    const { json } = await web.requestJson('GET', sessionPath)
    const shapes = json.messages.map((message: object) => Object.keys(message).sort())
    const members = ['content', 'metadata', 'payload', 'role', 'schema', 'type', 'version']
    expect(shapes).toEqual([members, members, members])
  })

  test('keeps an unanswered call and a result without a call (E-33)', async () => {
    const orphans = [toolCallRow, { content: 'x', metadata: { type: 'tool_result', tool_name: 'other' } }]
    await putMessages(orphans)
    const { json } = await web.requestJson('GET', sessionPath)
    expect(json.messages.map(({ type }: { type: string }) => type)).toEqual(['tool_call', 'tool_result'])
  })

  test('begins once for two simultaneous first messages, and per context (E-34)', async () => {
    const context = uniqueName('context')
    const open = () => web.requestJson('POST', '/v1/sessions', { context })
    const sessions = await Promise.all([open(), open(), open()])
    const [first] = sessions
    expect(new Set(sessions.map(({ json }) => json.session_id)).size).toBe(1)
    const pending = await web.requestJson('GET', `/v1/sessions/pending?context=${context}`)
    expect(pending.json.session_id).toBe(first?.json.session_id)
    expect((await web.requestJson('GET', '/v1/sessions/pending?context=none')).status).toBe(404)
    expect((await web.requestJson('GET', `/v1/sessions/pending?context=${context}`, undefined, 'bob')).status).toBe(404)
  })

  test('gets a new list in one step, so that a reader sees the old or the new one (E-36)', async () => {
    const sessionPath = await openSession()
    const lists = ['a', 'b'].map(word => Array.from({ length: 40 }, () => ({ role: 'user', content: word })))
    await putMessages(lists[0] ?? [], sessionPath)
    const sessionBefore = (await web.requestJson('GET', sessionPath)).json
    const writing = Promise.all([
      putMessages(lists[1] ?? [], sessionPath),
      putMessages(lists[0] ?? [], sessionPath),
      putMessages(lists[1] ?? [], sessionPath),
    ])
    const response = await Promise.all(Array.from({ length: 12 }, () => web.requestJson('GET', sessionPath)))
    await writing
    for (const { json } of response) {
      expect(new Set(json.messages.map(({ content }: { content: string }) => content)).size).toBe(1)
      expect(json.messages).toHaveLength(40)
    }
    const sessionAfter = (await web.requestJson('GET', sessionPath)).json
    expect(Date.parse(sessionAfter.updated_at)).toBeGreaterThanOrEqual(Date.parse(sessionBefore.updated_at))
    expect(sessionAfter).toMatchObject({ title: sessionBefore.title, created_at: sessionBefore.created_at })
  })
})

test('an import names the findings of envelopes with their positions (E-13, E-16)', async () => {
  const messages = [
    { role: 'user', content: 'fine' },
    { schema: envelopeHeader.schema, type: 'text', role: 'user', content: 'no version', payload: {} },
    { schema: 'other', version: 1, type: 'text', role: 'user', content: 'another schema' },
  ]
  const query = new URLSearchParams({
    owner: 'web:["https://agents.test","ann"]',
    thread: uniqueName('copy:thread'),
    format: 'envelope',
  })
  const response = await fetch(`${web.gateway.url()}/operator/api/transcript?${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorToken}` },
    body: JSON.stringify({ messages }),
  })
  expect(await response.json()).toMatchObject({
    added: 3,
    findings: [
      { code: 'version_missing', index: 1 },
      { code: 'schema_unknown', index: 2 },
    ],
  })
})
