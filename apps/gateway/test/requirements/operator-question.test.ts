import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, operatorToken } from '../setup/gateway.ts'
import { openChat, runChat } from '../setup/operator-gateway.ts'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway } from '../setup/web-gateway.ts'

// These tests let an agent's code ask an operator: the operator reads the question, and the sender learns only that they must wait.

const waitingText = 'A person has to allow this first.'

let web: WebGateway
let gateway: TestGateway
beforeAll(async () => {
  web = await openWebGateway()
  gateway = web.gateway
})
afterAll(() => web.close())

interface WaitingRequirement {
  readonly id: string
}

/** Grants the open requirement. Resolves to everything that the gateway sent to the operator. */
async function grantWaiting(): Promise<string> {
  const [open] = await eventually(async () => {
    const { items } = await gateway.requestOperator<{ items: readonly WaitingRequirement[] }>(
      '/requirements?state=open',
    )
    return items.length > 0 && items
  })
  const text = JSON.stringify(await gateway.requestOperator(`/requirements/${open?.id}`))
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify({ outcome: 'granted' }) }
  expect((await fetch(`${gateway.url()}/operator/api/requirements/${open?.id}`, init)).status).toBe(200)
  return text
}

test.each(['activitypub', 'email', 'a2a'] as const)('the sender of a message by %s learns that it waits', async via => {
  const { id } = await gateway.simulation.send({ via, to: 'chat', text: 'doubt', timeoutMs: 30_000 })
  const { response } = await gateway.readMessage(id)
  expect(JSON.stringify(response)).toContain(waitingText)
  expect(JSON.stringify(response)).not.toMatch(/fraud/i)
  expect(await grantWaiting()).toContain('Refund 500 to this fraud?')
  const decisionSummary = await eventually(async () =>
    (await gateway.messages()).find(({ preview }) => preview === 'An operator agreed.'),
  )
  expect((await gateway.readMessage(decisionSummary.id)).message.policy_resolution).toMatchObject({
    data: { note: 'fraud' },
  })
})

test('a chat shows its person that they wait, and neither the run nor the history has the question', async () => {
  const chat = openChat(`${gateway.url()}/api/v1/agents/chat/runs`, 'token-of-ann-for-the-tests')
  const events: unknown[] = []
  chat.subscribe({ onEvent: ({ event }) => void events.push(event) })
  chat.addMessage({ id: 'asked', role: 'user', content: 'patience' })
  await runChat(chat)
  await grantWaiting()
  await eventually(async () => (await gateway.messages()).find(({ preview }) => preview === 'An operator agreed.'))
  const history = JSON.stringify(await web.readHistory(chat.threadId, '&include=trace'))
  for (const recordedText of [JSON.stringify(events), history]) {
    expect(recordedText).toContain('We look into it.')
    expect(recordedText).not.toMatch(/fraud/i)
  }
})
