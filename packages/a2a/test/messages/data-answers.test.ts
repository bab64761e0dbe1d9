import type { Agent } from '@postern/pipeline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { joinTextParts, openA2aGateway } from '../setup/gateway.ts'
import { openStream } from '../setup/sse.ts'

const order = { order: 4711, items: [{ sku: 'tea', count: 2 }], paid: false }
const orderPart = { kind: 'artifact', data: order, name: 'order.json' } as const

/** An agent that answers with JSON only, whole or as a stream, or asks for missing data. */
const shop: Agent = {
  handle({ parts }) {
    const receivedData = parts.flatMap(part => (part.kind === 'artifact' && part.data !== undefined ? [part.data] : []))
    if (receivedData.length > 0) return { parts: [{ kind: 'artifact', data: { heard: receivedData } }] }
    if (joinTextParts(parts) === 'stream') return streamOrder()
    return { parts: [orderPart] }
  },
}

async function* streamOrder() {
  yield 'Your order:'
  yield orderPart
}

let gateway: A2aTestGateway
beforeAll(async () => {
  gateway = await openA2aGateway({ agents: { shop } })
})
afterAll(() => gateway.close())

const a2aOrderPart = { data: order, filename: 'order.json', mediaType: 'application/json' }

test('the caller gets data when an agent answers with JSON', async () => {
  const { body } = await gateway.sendText('order')
  expect(body.result.task.artifacts).toMatchObject([{ parts: [a2aOrderPart] }])
  const taskResponse = await gateway.rpc('GetTask', { id: body.result.task.id })
  expect(taskResponse.body.result.artifacts).toMatchObject([{ parts: [a2aOrderPart] }])
})

test('a JSON message stays data in both directions', async () => {
  const { body } = await gateway.sendText('', { parts: [{ data: order, mediaType: 'application/json' }] })
  const [{ parts }] = body.result.task.artifacts
  expect(parts).toEqual([{ data: { heard: [order] }, mediaType: 'application/json' }])
})

test('a chunk of a stream may be JSON', async () => {
  const message = { messageId: 'data-stream', role: 'ROLE_USER', parts: [{ text: 'stream' }] }
  const { body } = await gateway.rpc('SendMessage', { message })
  expect(body.result.task.artifacts).toMatchObject([{ parts: [{ text: 'Your order:' }, a2aOrderPart] }])
  const secondMessage = { ...message, messageId: 'data-stream-2' }
  const events = await (await openStream(gateway, 'SendStreamingMessage', { message: secondMessage })).events()
  const streamedParts = events.flatMap(event => event.artifactUpdate?.artifact.parts ?? [])
  expect(streamedParts).toContainEqual(a2aOrderPart)
})
