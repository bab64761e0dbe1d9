import { hash } from 'node:crypto'
import { exchangeFormats } from '@postern/transcript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { gatewayOrigin, openTestGateway, operatorToken } from '../setup/gateway.ts'

const token = 'token-of-ann-for-the-tests'
const owner = `web:${JSON.stringify([gatewayOrigin, 'ann'])}`

let gateway: TestGateway

beforeAll(async () => {
  const auth = { tokens: [{ name: 'ann', sha256: hash('sha256', token) }] }
  const agents = { chat: { use: '../agents/chat/chatter.ts' } }
  gateway = await openTestGateway(() => ({ web: { enabled: true, trace: false, auth }, agents, default_agent: 'chat' }))
})
afterAll(() => gateway.close())

interface Answer {
  readonly messages: readonly Record<string, unknown>[]
  readonly entries: number
  readonly added: number
  readonly detail: string
}

async function requestConversation(
  query: Record<string, string>,
  body?: object,
): Promise<{ status: number; json: Answer }> {
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
  const response = await fetch(`${gateway.url()}/operator/api/transcript?${new URLSearchParams(query)}`, init)
  return { status: response.status, json: (await response.json()) as Answer }
}

async function chat(content: unknown, threadId: string, runId: string): Promise<string> {
  const messages = [{ id: `m-${runId}`, role: 'user', content }]
  const headers = { authorization: `Bearer ${token}` }
  const body = JSON.stringify({ threadId, runId, messages })
  const response = await fetch(`${gateway.url()}/api/v1/agent/runs`, { method: 'POST', headers, body })
  return response.text()
}

describe('a fediverse conversation', () => {
  test.each([...exchangeFormats])('exports as %s, and importing that again changes nothing', async format => {
    const first = await gateway.simulation.send({ via: 'activitypub', to: 'chat', text: 'hello' })
    await gateway.simulation.send({ via: 'activitypub', to: 'chat', text: 'and more', thread: first.thread })
    const exportBefore = await requestConversation({ thread: first.id, format: 'jsonl' })
    expect(exportBefore.json.messages.map(({ kind, role }) => [kind, role])).toEqual([
      ['text', 'user'],
      ['text', 'assistant'],
      ['text', 'user'],
      ['text', 'assistant'],
    ])
    const { messages } = (await requestConversation({ thread: first.id, format })).json
    const secondResponse = await requestConversation({ thread: first.id, format }, { messages })
    expect(secondResponse.json).toMatchObject({ entries: 4, added: 0 })
    expect((await requestConversation({ thread: first.id, format: 'jsonl' })).json).toEqual(exportBefore.json)
  })
})

describe('tool calls from AG-UI', () => {
  const callOf = (id: string, args: string) => ({ id, type: 'function', function: { name: 'look', arguments: args } })
  const messages = [
    { id: 'u1', role: 'user', content: 'Look twice, please.' },
    {
      id: 'a1',
      role: 'assistant',
      content: 'So I do.',
      toolCalls: [callOf('c1', '{"at":1}'), callOf('c2', '{"at":2}')],
    },
    { id: 't1', role: 'tool', toolCallId: 'c1', content: 'one' },
    { id: 'a2', role: 'assistant', content: 'One moment.' },
    { id: 't2', role: 'tool', toolCallId: 'c2', content: 'two' },
    { id: 'a3', role: 'assistant', content: '', toolCalls: [callOf('c3', '{"at":12345678901234567890}')] },
    { id: 'u2', role: 'user', content: 'Are you there?' },
    { id: 't3', role: 'tool', toolCallId: 'c3', content: 'three' },
  ]

  test('export once each with arguments and results in the normalized format, and continue elsewhere', async () => {
    const conversation = { owner, thread: `web:${JSON.stringify(['chat', 'calls'])}` }
    const importedResponse = await requestConversation({ ...conversation, format: 'agui' }, { messages })
    expect(importedResponse.json).toMatchObject({ findings: [{ code: 'number_rounded', index: 5 }] })
    const normalized = (await requestConversation({ ...conversation, format: 'normalized' })).json.messages
    const parts = normalized.map(fields =>
      (fields.parts as { kind: string; id?: string }[]).map(({ kind, id }) => id ?? kind),
    )
    expect(parts).toEqual([['text'], ['text'], ['c1', 'c2', 'text'], ['c3'], ['text'], ['c3']])
    expect(normalized[2]?.parts).toMatchObject([
      { args: { at: 1 }, result: 'one' },
      { args: { at: 2 }, result: 'two' },
      { content: 'One moment.' },
    ])
    expect(normalized[5]?.parts).toMatchObject([{ args: { at: 12345678901234567000 }, result: 'three' }])
    expect(
      (await requestConversation({ ...conversation, format: 'normalized' }, { messages: normalized })).json,
    ).toMatchObject({
      added: 0,
    })
    const copy = { owner, thread: `web:${JSON.stringify(['chat', 'calls, copied'])}` }
    await requestConversation({ ...copy, format: 'normalized' }, { messages: normalized })
    const reimportedMessages = (await requestConversation({ ...copy, format: 'agui' })).json.messages as {
      toolCalls?: { id: string }[]
      toolCallId?: string
    }[]
    expect(reimportedMessages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id))).toEqual([
      'c1',
      'c2',
      'c3',
    ])
    expect(reimportedMessages.flatMap(({ toolCallId = [] }) => toolCallId)).toEqual(['c1', 'c2', 'c3'])
    expect(
      (await requestConversation({ ...conversation, format: 'agui' })).json.messages.map(
        ({ metadata: _, ...otherMembers }) => otherMembers,
      ),
    ).toEqual(messages)
  })
})

describe('a chat', () => {
  test.each([...exchangeFormats])('moves into another thread by %s, and exports the same there', async format => {
    const threadId = `thread-${format}`
    await chat('tool', threadId, `run-${format}-1`)
    await chat('count', threadId, `run-${format}-2`)
    const thread = `web:${JSON.stringify(['chat', threadId])}`
    const { messages } = (await requestConversation({ owner, thread, format })).json
    expect(messages.length).toBeGreaterThanOrEqual(4)
    const copyTarget = { owner, thread: `copy:${format}`, format }
    const firstMessage = await requestConversation(copyTarget, { messages })
    expect(firstMessage.status).toBe(200)
    expect(firstMessage.json.added).toBe(firstMessage.json.entries)
    const copied = (await requestConversation(copyTarget)).json.messages
    expect(copied.length).toBe(messages.length)
    expect((await requestConversation(copyTarget, { messages: copied })).json.added).toBe(0)
    expect((await requestConversation(copyTarget)).json.messages).toEqual(copied)
  })

  test('from another gateway continues, and its history has both parts', async () => {
    const thread = `web:${JSON.stringify(['chat', 'thread-moved'])}`
    const messages = [{ type: 'user_message', content: 'said elsewhere' }]
    expect((await requestConversation({ owner, thread, format: 'store' }, { messages })).json).toMatchObject({
      added: 1,
    })
    await chat('count', 'thread-moved', 'run-moved')
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${gateway.url()}/api/v1/agent/history?threadId=thread-moved`, { headers })
    const history = (await response.json()) as { messages: readonly { content: string }[] }
    expect(history.messages.map(({ content }) => content)).toEqual(['said elsewhere', 'count', expect.any(String)])
    expect((await requestConversation({ owner, thread, format: 'jsonl' })).json.messages).toHaveLength(3)
  })

  test('shows messages to all participants, and actions only to operators (S-34)', async () => {
    await chat('tool', 'thread-trace', 'run-trace')
    const path = '/api/v1/agent/history?threadId=thread-trace'
    const headers = { authorization: `Bearer ${token}` }
    const history = (await (await fetch(`${gateway.url()}${path}`, { headers })).json()) as {
      messages: { role: string }[]
    }
    expect(history.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    const refusal = await fetch(`${gateway.url()}${path}&include=trace`, { headers })
    expect([refusal.status, await refusal.json()]).toMatchObject([
      403,
      { code: 'forbidden', detail: 'Cannot read history: traces are for operators' },
    ])
    const thread = `web:${JSON.stringify(['chat', 'thread-trace'])}`
    const completedFields = (await requestConversation({ owner, thread, format: 'jsonl' })).json.messages
    expect(completedFields.map(({ kind }) => kind)).toEqual(['text', 'tool_call', 'tool_result', 'text'])
  })

  test('refuses an invalid import, and stores nothing of it', async () => {
    const copyTarget = { owner, thread: 'copy:bad', format: 'store' }
    const messages = [
      { type: 'user_message', content: 'fine' },
      { type: 'action', tool: 'ls' },
    ]
    const refusal = await requestConversation(copyTarget, { messages })
    expect([refusal.status, refusal.json.detail]).toEqual([400, expect.stringContaining('args')])
    expect((await requestConversation(copyTarget)).json.messages).toEqual([])
    const unknown = await requestConversation({ owner, thread: 'copy:never', format: 'store' })
    expect([unknown.status, unknown.json.detail]).toEqual([
      404,
      'Cannot find thread: there is no conversation of this name',
    ])
    const format = await requestConversation({ owner, thread: 'copy:never', format: 'word' })
    expect([format.status, format.json.detail]).toEqual([
      400,
      'Cannot read transcript: "format" must be one of envelope, agui, store, swarm, normalized, jsonl',
    ])
  })

  test('disappears in every format with its owner, together with its files, while others keep theirs', async () => {
    const form = new FormData()
    form.set('file', new File(['some text'], 'a.txt'))
    const headers = { authorization: `Bearer ${token}` }
    const upload = await fetch(`${gateway.url()}/api/v1/agent/attachments`, { method: 'POST', headers, body: form })
    const { url } = (await upload.json()) as { url: string }
    const local = url.replace(gatewayOrigin, gateway.url())
    expect((await fetch(local)).status).toBe(200)
    await chat('the secret word', 'thread-last', 'run-last')
    const mail = await gateway.simulation.send({ via: 'email', to: 'chat', text: 'by mail' })
    const forget = (owner: string) =>
      fetch(`${gateway.url()}/operator/api/owners/forget`, {
        method: 'POST',
        headers: { authorization: `Bearer ${operatorToken}` },
        body: JSON.stringify({ owner }),
      })
    // An owner that names nobody is refused, instead of a success that deletes nothing.
    expect((await forget('web:["ann"]')).status).toBe(400)
    const response = await forget(owner.replace(',', ', '))
    expect(await response.json()).toMatchObject({ owner, attachments: 1, threads: expect.any(Number) })
    expect((await fetch(local)).status).toBe(404)
    const history = await fetch(`${gateway.url()}/api/v1/agent/history?threadId=thread-last`, { headers })
    expect(history.status).toBe(404)
    const listedSummaries = await gateway.messages()
    expect(listedSummaries.some(({ sender }) => sender === '@ann@web.agents.test')).toBe(false)
    expect((await gateway.readMessage(mail.id)).state).toBe('answered')
  })
})
