import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { WebGateway } from '../setup/web-gateway.ts'
import {
  checkEventStream,
  findEvent,
  openWebGateway,
  parseEvents,
  readEvents,
  uniqueName,
} from '../setup/web-gateway.ts'

// These tests check what a client received of a run before its cancellation.

let web: WebGateway

beforeAll(async () => {
  const agents = { chat: { use: '../agents/chat/chatter.ts' }, mute: { use: '../agents/waiting/hanging.ts' } }
  web = await openWebGateway({}, { agents, default_agent: 'chat' })
})
afterAll(() => web.close())

const cancel = (runId: string) => web.requestJson('POST', `/api/v1/agent/runs/${runId}/cancel`)

/** Starts a run, and cancels it once the client has received this text. */
async function cancelAt(receivedText: string, threadId: string, messages: readonly object[]) {
  const runId = uniqueName('run')
  const { body } = await web.postRun({ threadId, runId, messages })
  let text = ''
  for await (const bytes of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    const isFirst = !text.includes(receivedText)
    text += bytes
    if (isFirst && text.includes(receivedText)) expect((await cancel(runId)).json).toEqual({ cancelled: true })
  }
  const events = parseEvents(text)
  await checkEventStream(text, events)
  return { runId, events }
}

const user = (content: string) => ({ id: uniqueName('msg'), role: 'user', content })

test('a cancelled run keeps its text as one incomplete message under the id of the stream (C-16, C-18)', async () => {
  const threadId = uniqueName('thread')
  const { runId, events } = await cancelAt('begun', threadId, [user('wait')])
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } })
  const { messageId } = findEvent(events, 'TEXT_MESSAGE_START')
  await eventually(async () => (await web.readHistory(threadId)).length === 2)
  const [, partialMessage] = await web.readHistory(threadId)
  expect(partialMessage).toMatchObject({ id: messageId, seq: 2, role: 'assistant', content: 'begun' })
  expect(partialMessage?.metadata).toMatchObject({ incomplete: true, run_id: runId })
  // No agent remembers the run: the history has only the earlier text.
  const laterEvents = await web.runChat('how many', { threadId })
  expect(findEvent(laterEvents, 'TEXT_MESSAGE_CONTENT').delta).toBe('you said: how many; turns: 1')
  expect((await web.readHistory(threadId)).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
})

test('a client with the text of a cancelled run misses nothing, and the gateway does not deliver it (C-18)', async () => {
  const threadId = uniqueName('thread')
  const first = user('wait')
  const { events } = await cancelAt('begun', threadId, [first])
  await eventually(async () => (await web.readHistory(threadId)).length === 2)
  const userMessage = { id: findEvent(events, 'TEXT_MESSAGE_START').messageId, role: 'assistant', content: 'begun' }
  const { events: next } = await cancelAt('begun', threadId, [first, userMessage, user('wait')])
  expect(findEvent(next, 'MESSAGES_SNAPSHOT')).toBeUndefined()
  const { items: deliveries } = await web.gateway.requestOperator<{ items: readonly { message: string }[] }>(
    '/deliveries',
  )
  expect(JSON.stringify(deliveries)).not.toContain(threadId)
  expect(JSON.stringify(deliveries)).not.toContain(userMessage.id)
})

test('a run that its owner cancels before the first text leaves nothing (C-18)', async () => {
  const [threadId, runId] = [uniqueName('thread'), uniqueName('run')]
  const base = '/api/v1/agents/mute'
  const body = JSON.stringify({ threadId, runId, protocolVersion: '1.0', messages: [user('hello')] })
  const running = await web.requestAs(`${base}/runs`, { method: 'POST', body })
  await eventually(async () => (await web.gateway.messages()).some(({ state }) => state === 'working'))
  await web.requestJson('POST', `${base}/runs/${runId}/cancel`)
  expect((await readEvents(running)).at(-1)).toMatchObject({ outcome: { type: 'cancelled' } })
  const { json } = await web.requestJson('GET', `${base}/history?threadId=${threadId}`)
  expect(json.messages.map(({ content }: { content: string }) => content)).toEqual(['hello'])
})

test('the text of a cancelled run disappears with its chat (C-18)', async () => {
  const threadId = uniqueName('thread')
  await cancelAt('begun', threadId, [user('wait')])
  await eventually(async () => (await web.readHistory(threadId)).length === 2)
  expect((await web.requestJson('DELETE', `/api/v1/agent/threads/${threadId}`)).json).toEqual({ deleted: true })
  expect((await web.requestAs(`/api/v1/agent/history?threadId=${threadId}`)).status).toBe(404)
})

test('a run ends as cancelled, without success, when its owner deletes the chat', async () => {
  const threadId = uniqueName('thread')
  const { body } = await web.postRun({ threadId, runId: uniqueName('run'), messages: [user('wait')] })
  let text = ''
  for await (const bytes of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    const isFirst = !text.includes('begun')
    text += bytes
    if (!isFirst || !text.includes('begun')) continue
    expect((await web.requestJson('DELETE', `/api/v1/agent/threads/${threadId}`)).json).toEqual({ deleted: true })
  }
  const events = parseEvents(text)
  await checkEventStream(text, events)
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } })
})
