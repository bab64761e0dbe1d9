import type { ListedDecision, MessageRecord } from '@postern/core'
import { drawDelays } from '@postern/testing/scale'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findActionPath, insist } from './demand-steps.ts'
import { eventually, operatorToken } from './house.ts'
import type { TillHouse } from './till-house.ts'
import { openTillHouse } from './till-house.ts'

// kill -9 around a decision that is remembered, and around the calls that it allows: both or neither, and no tool runs twice.

const scale = { quick: 3, long: 8 }
let house: TillHouse

beforeAll(async () => {
  house = await openTillHouse({ tool_policies: { refund: 'preview' } })
})
afterAll(() => house.close())

async function operate<Answer>(path: string, method = 'GET'): Promise<Answer> {
  const headers = { authorization: `Bearer ${operatorToken}` }
  return (await (await fetch(`${house.url}/operator/api${path}`, { method, headers })).json()) as Answer
}
const listKept = async () =>
  (await operate<{ approvals: readonly ListedDecision[] }>('/agents/shop/approvals')).approvals

const allow = (path: string) =>
  fetch(house.url + path, { method: 'POST', body: new URLSearchParams({ decision: 'grant', remember: 'always' }) })

/** Where a refund that somebody asks for can be allowed. */
async function askFor(order: number) {
  const { objectId } = await house.post(`please refund ${order}`)
  const { activity } = await house.world.fediverse.awaitReply(objectId, 30_000)
  return { objectId, path: findActionPath(JSON.stringify(activity.object)) }
}

test('E-39: a decision and what is remembered of it are durable together, or neither is', {
  timeout: 240_000,
}, async () => {
  const { gateway, url } = house
  for (const [round, delayMs] of drawDelays({ ...scale, lastMs: 42 }).entries()) {
    const { objectId, path } = await askFor(100 + round)
    const decided = allow(path).catch(() => undefined)
    await new Promise(resolve => setTimeout(resolve, delayMs))
    await gateway.kill()
    await decided
    await gateway.start()
    // Where it was not durable, it is decided now, for this once.
    await insist(url, path)
    await eventually(async () => house.answersTo(objectId).length > 0, 30_000)
    house.expectOneRing(String(100 + round), house.answersTo(objectId)[0] ?? '')
    const { demands } = await operate<{ demands: readonly { id: string }[] }>('/demands')
    const { message } = await operate<MessageRecord>(`/messages/urn:postern:resolution:${demands[0]?.id}`)
    const kept = await listKept()
    expect(kept.map(({ scope }) => scope)).toEqual(message.policy_resolution?.remember ? ['always'] : [])
    for (const { id } of kept) await operate(`/agents/shop/approvals/${id}`, 'DELETE')
  }
})

test('E-39: a tool that was allowed before runs once at most, though the gateway is killed while it begins or runs', {
  timeout: 240_000,
}, async () => {
  const { gateway } = house
  const { objectId, path } = await askFor(200)
  expect((await allow(path)).status).toBe(200)
  await eventually(async () => house.answersTo(objectId).length > 0)
  const heard: string[] = []
  for (const [round, delayMs] of drawDelays({ ...scale, lastMs: 105 }).entries()) {
    const order = 201 + round
    const asked = await house.post(`please refund ${order}`)
    // From before the model is asked to after the tool has ended.
    await new Promise(resolve => setTimeout(resolve, delayMs))
    await gateway.kill()
    await gateway.start()
    await eventually(async () => house.answersTo(asked.objectId).length > 0, 60_000)
    heard.push(house.expectOneRing(String(order), house.answersTo(asked.objectId)[0] ?? ''))
  }
  expect(heard).toContain('made')
})
