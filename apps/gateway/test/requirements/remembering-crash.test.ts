import type { ListedDecision, MessageRecord } from '@postern/pipeline'
import { drawDelays } from '@postern/testing/scale'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operatorToken } from '../setup/gateway.ts'
import type { TillGateway } from '../setup/till-gateway.ts'
import { allowAlways, answerAfterKill, askForRefund, openTillGateway } from '../setup/till-gateway.ts'

// This test runs kill -9 around a decision that the gateway remembers.

let setup: TillGateway

beforeAll(async () => {
  setup = await openTillGateway({ tool_policies: { refund: 'preview' } })
})
afterAll(() => setup.close())

async function operate<Answer>(path: string, method = 'GET'): Promise<Answer> {
  const headers = { authorization: `Bearer ${operatorToken}` }
  return (await (await fetch(`${setup.url}/operator/api${path}`, { method, headers })).json()) as Answer
}
const listKept = async () => (await operate<{ items: readonly ListedDecision[] }>('/agents/shop/approvals')).items

test('the store commits a decision and its memory together, or neither (E-39)', {
  timeout: 240_000,
}, async () => {
  for (const [round, delayMs] of drawDelays({ quick: 2, long: 8, lastMs: 42 }).entries()) {
    const refund = await askForRefund(setup, 100 + round)
    // The second decision, which follows a lost one, is for this call only.
    const decide = () => allowAlways(setup, refund.path)
    setup.expectOneRefund(String(100 + round), await answerAfterKill(setup, refund, { delayMs, decide }))
    const { items: requirements } = await operate<{ items: readonly { id: string }[] }>('/requirements')
    const { message } = await operate<MessageRecord>(`/messages/urn:postern:resolution:${requirements[0]?.id}`)
    const storedDecisions = await listKept()
    expect(storedDecisions.map(({ scope }) => scope)).toEqual(message.policy_resolution?.remember ? ['always'] : [])
    for (const { id } of storedDecisions) await operate(`/agents/shop/approvals/${id}`, 'DELETE')
  }
})
