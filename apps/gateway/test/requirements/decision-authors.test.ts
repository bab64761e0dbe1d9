import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, operatorToken } from '../setup/gateway.ts'
import type { OperatorGateway, WaitingRequirement } from '../setup/operator-gateway.ts'
import { evesToken, newName, openChat, openOperatorGateway, runChat, tillAgents } from '../setup/operator-gateway.ts'
import { annsToken } from '../setup/swarm-gateway.ts'

// These tests check that a decision opens a turn of the person who asked, but does not count as their text. Every view names the person who
// decided.

let setup: OperatorGateway
beforeAll(async () => {
  setup = await openOperatorGateway()
})
afterAll(() => setup.close())

type Row = Readonly<Record<string, unknown>>
const gateway = () => setup.swarm.gateway

async function exportAs(format: string, waiting: WaitingRequirement): Promise<readonly Row[]> {
  const query = new URLSearchParams({ format, thread: `urn:postern:resolution:${waiting.id}` })
  return (await setup.swarm.requestOperator<{ messages: readonly Row[] }>(`/transcript?${query}`)).messages
}

/** Readers that find, in each dialect, the author of the decision that a message reports. */
const readersByFormat: Readonly<Record<string, (message: Row) => unknown>> = {
  envelope: ({ metadata }) => (metadata as Row).decided_by,
  agui: ({ metadata }) => (metadata as Row | undefined)?.decided_by,
  store: ({ decided_by }) => decided_by,
  swarm: ({ payload }) => (payload as Row | null | undefined)?.decided_by,
  normalized: ({ policy_resolution }) => (policy_resolution as Row | undefined)?.resolver,
}

test.each(tillAgents)(
  'an operator’s decision for %s has their name in every export, and imports unchanged',
  async agent => {
    const { objectId, requirement } = await setup.askForRefund(agent)
    const chat = openChat(`${gateway().url()}/api/v1/operator/runs`, evesToken, `approval:${requirement.id}`)
    await runChat(chat)
    await runChat(chat, [{ interruptId: requirement.id, status: 'resolved', payload: { approved: true } }])
    await eventually(async () => setup.answersTo(objectId).some(text => text.includes('refunded')))
    for (const [format, decidedBy] of Object.entries(readersByFormat)) {
      const messages = await exportAs(format, requirement)
      const deciders = messages.map(decidedBy).filter(Boolean)
      expect([format, deciders]).toEqual([format, [expect.objectContaining({ method: 'operator', subject: 'eve' })]])
      expect(JSON.stringify(messages.find(decidedBy))).toContain('An operator agreed')
      const query = new URLSearchParams({ format, thread: `urn:postern:resolution:${requirement.id}` })
      const response = await fetch(`${gateway().url()}/operator/api/transcript?${query}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ messages }),
      })
      expect(response.status).toBe(200)
      expect(await exportAs(format, requirement)).toEqual(messages)
    }
  },
)

test('a chat distinguishes an operator’s decision from its owner’s text, without naming the operator', async () => {
  const chat = openChat(`${gateway().url()}/api/v1/agents/shop/runs`, annsToken)
  chat.addMessage({ id: newName('msg'), role: 'user', content: 'My money, please' })
  await runChat(chat)
  const waiting = await setup.findWaiting('shop')
  const operators = openChat(`${gateway().url()}/api/v1/operator/runs`, evesToken, `approval:${waiting.id}`)
  await runChat(operators)
  await runChat(operators, [{ interruptId: waiting.id, status: 'resolved', payload: { approved: true } }])
  const path = `/api/v1/agents/shop/history?threadId=${chat.threadId}`
  const response = await fetch(gateway().url() + path, { headers: { authorization: `Bearer ${annsToken}` } })
  const { messages } = (await response.json()) as { messages: readonly { content: string; metadata: Row }[] }
  const decidedMessages = messages.filter(({ metadata }) => metadata.decided_by)
  expect(decidedMessages).toMatchObject([
    {
      content: expect.stringContaining('An operator agreed'),
      metadata: { decided_by: { method: 'operator', approver: 'operator' } },
    },
  ])
  expect(JSON.stringify(messages)).not.toContain('eve')
})

test('a missing decision has no author', async () => {
  await gateway().restart({ requirements: { expires_after_hours: 5 / 3_600 } })
  const { objectId, requirement } = await setup.askForRefund('desk')
  await eventually(async () => setup.answersTo(objectId).some(text => text.includes('Nobody allowed it in time.')))
  const query = new URLSearchParams({ format: 'jsonl', thread: `urn:postern:resolution:${requirement.id}` })
  const { messages } = await setup.swarm.requestOperator<{ messages: readonly Row[] }>(`/transcript?${query}`)
  expect(messages.filter(({ decided_by }) => decided_by)).toMatchObject([
    { author: { address: 'gateway' }, decided_by: { method: 'timeout', approver: 'operator' } },
  ])
})
