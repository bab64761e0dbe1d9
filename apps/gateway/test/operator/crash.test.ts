import { drawDelays } from '@postern/testing/scale'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, operatorToken } from '../setup/gateway.ts'
import type { TillGateway } from '../setup/till-gateway.ts'
import { openTillGateway } from '../setup/till-gateway.ts'

// These tests run kill -9 between an operator's decision and its last consequence. The tool has begun at most once, with the operator's
// arguments. The person who asked gets an answer, and their mailbox gets one copy.

const delays = drawDelays({ quick: 2, long: 6, lastMs: 80 })
let setup: TillGateway

beforeAll(async () => {
  setup = await openTillGateway({
    people: { link: true, mail: 'decided' },
    tool_policies: { refund: { policy: 'preview', approve: 'operator' } },
  })
  await linkMailbox()
})
afterAll(() => setup.close())

async function linkMailbox(): Promise<void> {
  await setup.post('link alice@alice.test')
  const code = await eventually(
    async () => setup.simulation.mail.received.flatMap(({ text }) => /\b\w{5}-\w{5}\b/.exec(text ?? '') ?? [])[0],
  )
  const { objectId } = await setup.post(`confirm ${code}`)
  await setup.simulation.fediverse.awaitReply(objectId, 30_000)
}

async function operate<Answer>(path: string, body?: object): Promise<{ status: number; body: Answer }> {
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
  const response = await fetch(`${setup.url}/operator/api${path}`, init)
  return { status: response.status, body: (await response.json()) as Answer }
}

test('a gateway that dies during an operator’s decision runs the call at most once, answers, and copies once (E-39)', {
  timeout: 240_000,
}, async () => {
  const texts: string[] = []
  for (const [round, delayMs] of delays.entries()) {
    const [askedOrder, changedOrder] = [String(200 + round), String(1_200 + round)]
    const { objectId } = await setup.post(`please refund ${askedOrder}`)
    await setup.simulation.fediverse.awaitReply(objectId, 30_000)
    const mailsBefore = setup.simulation.mail.received.length
    const { items: requirements } = (
      await operate<{ items: { id: string }[] }>('/requirements?state=open&approver=operator')
    ).body
    const path = `/requirements/${requirements[0]?.id}`
    const decision = { outcome: 'granted', arguments: { order: changedOrder } }
    const pendingResponse = operate(path, decision).catch(() => undefined)
    // The delays range from before the decision is durable to after the tool has ended.
    await new Promise(resolve => setTimeout(resolve, delayMs))
    await setup.gateway.kill()
    await pendingResponse
    await setup.gateway.start()
    await eventually(async () =>
      [200, 403].includes((await operate(path, decision).catch(() => undefined))?.status ?? 0),
    )
    await eventually(async () => setup.answersTo(objectId).length > 0, 30_000)
    expect(setup.readTillLines()).not.toContain(`begun ${askedOrder}`)
    texts.push(setup.expectOneRefund(changedOrder, setup.answersTo(objectId)[0] ?? ''))
    const copies = await eventually(async () => {
      const mails = setup.simulation.mail.received
        .slice(mailsBefore)
        .filter(({ text }) => text?.includes('The till says'))
      return mails.length > 0 && mails
    })
    // A mail that was delivered twice counts as one.
    expect(new Set(copies.map(({ messageId }) => messageId)).size).toBe(1)
  }
  expect(texts).toContain('made')
})
