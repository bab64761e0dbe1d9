import type { NormalizedMessage } from '@postern/message'
import { normalizedMessageSchema } from '@postern/message'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway, operatorToken } from '../setup/gateway.ts'

let gateway: TestGateway

beforeAll(async () => {
  const agents = { chat: { use: '../agents/chat/chatter.ts' } }
  gateway = await openTestGateway(() => ({ web: { enabled: true }, agents, default_agent: 'chat' }))
})
afterAll(() => gateway.close())

type Messages = readonly Record<string, unknown>[]

async function exportThread(thread: string, format: string, owner?: string): Promise<Messages> {
  const query = new URLSearchParams({ thread, format, ...(owner !== undefined && { owner }) })
  return (await gateway.requestOperator<{ messages: Messages }>(`/transcript?${query}`)).messages
}

async function importMessages(
  query: Record<string, string>,
  messages: Messages,
): Promise<{ entries: number; added: number }> {
  const response = await fetch(`${gateway.url()}/operator/api/transcript?${new URLSearchParams(query)}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages }),
  })
  return (await response.json()) as { entries: number; added: number }
}

/** Returns messages as the store has them, without the earlier words of the thread, which `show` adds. */
async function showHandled(ids: readonly string[]): Promise<readonly object[]> {
  const records = await Promise.all(ids.map(id => gateway.readMessage(id)))
  return records.flatMap(({ message: { history: _, ...message }, response }) => [message, response ?? {}])
}

describe.each(['activitypub', 'email', 'a2a'] as const)('a conversation by %s in the normalized format', via => {
  let ids: readonly string[]
  let thread: string
  beforeAll(async () => {
    const first = await gateway.simulation.send({ via, to: 'chat', text: 'tool' })
    const second = await gateway.simulation.send({ via, to: 'chat', text: 'and more', thread: first.thread })
    ids = [first.id, second.id]
    thread = first.id
  })

  test('has all messages and answers in the documented format, with channel, proofs and raw form', async () => {
    const messages = await exportThread(thread, 'normalized')
    expect(messages).toEqual(await showHandled(ids))
    const [question] = messages as unknown as readonly NormalizedMessage[]
    expect(normalizedMessageSchema.parse(question)).toMatchObject({
      id: ids[0],
      received_via: via,
      sender: { verified: true, identities: [{ proof: { type: 'transport' } }] },
    })
    expect(question?.sender.auth_method).not.toBe('none')
    expect(question?.raw).toBeTruthy()
  })

  test('changes nothing at a second import, and moves completely into another thread', async () => {
    const messages = await exportThread(thread, 'normalized')
    const linesBefore = await exportThread(thread, 'jsonl')
    expect(await importMessages({ thread, format: 'normalized' }, messages)).toMatchObject({ added: 0 })
    expect(await exportThread(thread, 'jsonl')).toEqual(linesBefore)
    for (const format of ['normalized', 'jsonl'] as const) {
      const copyTarget = { owner: 'web:["copies","one"]', thread: `copy:${via}-${format}`, format }
      await importMessages(copyTarget, format === 'jsonl' ? linesBefore : messages)
      expect(await exportThread(copyTarget.thread, 'normalized', copyTarget.owner)).toEqual(messages)
      expect(await importMessages(copyTarget, format === 'jsonl' ? linesBefore : messages)).toMatchObject({ added: 0 })
    }
  })
})
