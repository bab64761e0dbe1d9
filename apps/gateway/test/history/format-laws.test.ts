import { hash } from 'node:crypto'
import { exchangeFormats } from '@postern/transcript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { gatewayOrigin, openTestGateway, operatorToken } from '../setup/gateway.ts'

// These tests export conversations of a running gateway, on every channel, in every format, import them, and export them unchanged again.

const token = 'token-of-ann-for-the-tests'
const ann = `web:${JSON.stringify([gatewayOrigin, 'ann'])}`
const scenarios = ['halves', 'tool', 'search', 'count', 'boom'] as const

let gateway: TestGateway

beforeAll(async () => {
  const auth = { tokens: [{ name: 'ann', sha256: hash('sha256', token) }] }
  const agents = { chat: { use: '../agents/chat/chatter.ts' } }
  gateway = await openTestGateway(() => ({ web: { enabled: true, auth }, agents, default_agent: 'chat' }))
})
afterAll(() => gateway.close())

type Messages = readonly Record<string, unknown>[]
type Query = Readonly<Record<string, string>>

async function exchange(query: Query, messages?: Messages) {
  const init = messages ? { method: 'POST', body: JSON.stringify({ messages }) } : {}
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const response = await fetch(`${gateway.url()}/operator/api/transcript?${new URLSearchParams(query)}`, {
    ...init,
    headers,
  })
  const json = (await response.json()) as { messages: Messages; entries: number; added: number; detail?: string }
  expect({ status: response.status, detail: json.detail }).toEqual({ status: 200, detail: undefined })
  return json
}

async function converse(via: 'activitypub' | 'a2a' | 'email'): Promise<Query> {
  const first = await gateway.simulation.send({ via, to: 'chat', text: scenarios[0], timeoutMs: 30_000 })
  let { thread } = first
  for (const text of scenarios.slice(1))
    ({ thread } = await gateway.simulation.send({ via, to: 'chat', text, thread, timeoutMs: 30_000 }))
  return { thread: first.id }
}

async function chat(): Promise<Query> {
  for (const [index, content] of scenarios.entries()) {
    const messages = [{ id: `m-${index}`, role: 'user', content }]
    const body = JSON.stringify({ threadId: 'laws', runId: `r-${index}`, messages })
    const headers = { authorization: `Bearer ${token}` }
    await (await fetch(`${gateway.url()}/api/v1/agent/runs`, { method: 'POST', headers, body })).text()
  }
  return { owner: ann, thread: `web:${JSON.stringify(['chat', 'laws'])}` }
}

describe.each(['activitypub', 'a2a', 'email', 'web'] as const)('a conversation by %s', via => {
  let conversation: Query

  beforeAll(async () => {
    conversation = via === 'web' ? await chat() : await converse(via)
  }, 120_000)

  test.each([...exchangeFormats])(
    'imports from %s here and on another gateway, and exports the same again',
    async format => {
      const { messages } = await exchange({ ...conversation, format })
      expect(messages.length).toBeGreaterThanOrEqual(scenarios.length)
      expect(await exchange({ ...conversation, format }, messages)).toMatchObject({ added: 0 })
      expect((await exchange({ ...conversation, format })).messages).toEqual(messages)

      const copy = { owner: `copies:${via}`, thread: `copy:${format}`, format }
      const { entries, added } = await exchange(copy, messages)
      expect(added).toBe(entries)
      const copied = (await exchange(copy)).messages
      expect(copied).toHaveLength(messages.length)
      expect(await exchange(copy, copied)).toMatchObject({ added: 0 })
      expect((await exchange(copy)).messages).toEqual(copied)
    },
  )

  test('has each tool call once, with its arguments and result', async () => {
    const { messages } = await exchange({ ...conversation, format: 'normalized' })
    const answers = messages.filter(
      ({ in_reply_to, parts }) => in_reply_to && JSON.stringify(parts).includes('three hits'),
    )
    const calls = ((answers[0]?.parts ?? []) as Messages).filter(({ kind }) => kind === 'tool_call')
    expect(calls).toMatchObject([
      { id: 'half', args: { q: 'it' }, result: { hits: 3 } },
      { id: 'half-2', args: { q: 'that' }, result: { hits: 0 } },
    ])
    expect(answers[0]?.trace).toMatchObject([{ id: 'behind', args: { to: 'b' }, result: 'done' }])
  })
})
