import type { ListedDecision, MessageRecord } from '@postern/pipeline'
import { drawDelays } from '@postern/testing/scale'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, operatorToken } from '../setup/gateway.ts'
import { findActionPath, insist } from '../setup/requirement-steps.ts'
import type { TillGateway } from '../setup/till-gateway.ts'
import { openTillGateway } from '../setup/till-gateway.ts'

// These tests run kill -9 around a remembered decision and the calls that it allows. Both survive or neither does, and no tool runs twice.

const scale = { quick: 2, long: 8 }
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

const allow = (path: string) =>
  fetch(setup.url + path, { method: 'POST', body: new URLSearchParams({ decision: 'grant', remember: 'always' }) })

/** Asks for a refund, and returns the post and the path at which somebody can allow the refund. */
async function askFor(order: number) {
  const { objectId } = await setup.post(`please refund ${order}`)
  const { activity } = await setup.simulation.fediverse.awaitReply(objectId, 30_000)
  return { objectId, path: findActionPath(JSON.stringify(activity.object)) }
}

test('the store commits a decision and its memory together, or neither (E-39)', {
  timeout: 240_000,
}, async () => {
  const { gateway, url } = setup
  for (const [round, delayMs] of drawDelays({ ...scale, lastMs: 42 }).entries()) {
    const { objectId, path } = await askFor(100 + round)
    const pendingResponse = allow(path).catch(() => undefined)
    await new Promise(resolve => setTimeout(resolve, delayMs))
    await gateway.kill()
    await pendingResponse
    await gateway.start()
    // A decision that was not durable is made again here, for this call only.
    await insist(url, path)
    await eventually(async () => setup.answersTo(objectId).length > 0, 30_000)
    setup.expectOneRefund(String(100 + round), setup.answersTo(objectId)[0] ?? '')
    const { items: requirements } = await operate<{ items: readonly { id: string }[] }>('/requirements')
    const { message } = await operate<MessageRecord>(`/messages/urn:postern:resolution:${requirements[0]?.id}`)
    const storedDecisions = await listKept()
    expect(storedDecisions.map(({ scope }) => scope)).toEqual(message.policy_resolution?.remember ? ['always'] : [])
    for (const { id } of storedDecisions) await operate(`/agents/shop/approvals/${id}`, 'DELETE')
  }
})

test('a remembered permission runs a tool at most once if the gateway dies around it (E-39)', {
  timeout: 240_000,
}, async () => {
  const { gateway } = setup
  const { objectId, path } = await askFor(200)
  expect((await allow(path)).status).toBe(200)
  await eventually(async () => setup.answersTo(objectId).length > 0)
  const texts: string[] = []
  for (const [round, delayMs] of drawDelays({ ...scale, lastMs: 105 }).entries()) {
    const order = 201 + round
    const question = await setup.post(`please refund ${order}`)
    // The delays range from before the request to the model to after the tool has ended.
    await new Promise(resolve => setTimeout(resolve, delayMs))
    await gateway.kill()
    await gateway.start()
    await eventually(async () => setup.answersTo(question.objectId).length > 0, 60_000)
    texts.push(setup.expectOneRefund(String(order), setup.answersTo(question.objectId)[0] ?? ''))
  }
  expect(texts).toContain('made')
})
