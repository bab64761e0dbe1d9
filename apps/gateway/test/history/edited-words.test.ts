import type { ModelServer } from '@postern/agents/test-model-server'
import { openModelServer } from '@postern/agents/test-model-server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { replayOne } from '../replay/replay-gateway.ts'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, openTestGateway } from '../setup/gateway.ts'
import { replyWith } from '../setup/swarm-gateway.ts'

// These tests check that text which people withdraw is deleted for agents and operators.

let gateway: TestGateway
let model: ModelServer
const to = '@echo@agents.test'

beforeAll(async () => {
  model = await openModelServer(() => replyWith('ok'))
  const agent = { use: 'openai', base_url: model.baseUrl, model: 'test-model' }
  gateway = await openTestGateway(() => ({ agents: { echo: agent } }))
})
afterAll(async () => {
  await gateway.close()
  await model.close()
})

/** Sends a message with a code, edits or deletes that message, and sends another one. */
async function changeMessage(change: (object: Record<string, unknown>) => object) {
  const { fediverse } = gateway.simulation
  const first = await fediverse.deliver({ to, text: 'My code is 1234' })
  const { activity: answer } = await fediverse.awaitReply(first.objectId, 30_000)
  const countBefore = (await gateway.messages()).length
  const editedObject = change(first.activity.object as Record<string, unknown>)
  await fediverse.send({ to, ...(editedObject as { type: 'Update' | 'Delete'; object: object }) })
  await eventually(async () => {
    const now = await gateway.messages()
    return now.length > countBefore && now.every(({ state }) => state !== 'received' && state !== 'working')
  })
  const inReplyTo = String((answer.object as { id?: unknown }).id)
  const next = await fediverse.deliver({ to, text: 'And now?', inReplyTo })
  await fediverse.awaitReply(next.objectId, 30_000)
  const promptMessages = model.requests.at(-1)?.body.messages ?? []
  return { first: `${first.objectId}/activity`, asked: promptMessages.filter(({ role }) => role !== 'system') }
}

test('the history of an agent shows edited text in place of the former text', async () => {
  const { first, asked } = await changeMessage(object => ({
    type: 'Update',
    object: { ...object, content: '<p>My code is gone</p>', contentMap: undefined },
  }))
  expect(asked.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  expect(JSON.stringify(asked)).toContain('My code is gone')
  expect(JSON.stringify([asked, await gateway.messages(), await gateway.readMessage(first)])).not.toContain('1234')
  expect((await replayOne(gateway, first)).json.normalized).toEqual([])
})

test('the history of an agent shows no deleted text', async () => {
  const { first, asked } = await changeMessage(({ id }) => ({ type: 'Delete', object: { id, type: 'Tombstone' } }))
  expect(asked.map(({ role }) => role)).toContain('user')
  expect(JSON.stringify([asked, await gateway.readMessage(first)])).not.toContain('1234')
})
