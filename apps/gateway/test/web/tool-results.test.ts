import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { WebGateway } from '../setup/web-gateway.ts'
import { findEvent, openWebGateway, readEvents } from '../setup/web-gateway.ts'

// These tests check that a client returns the result of a call that was left to it, and of no other call.

let web: WebGateway
beforeAll(async () => {
  web = await openWebGateway({}, { agents: { caller: { use: '../agents/asking/caller.ts' } }, default_agent: 'caller' })
})
afterAll(() => web.close())

const tool = (name: string) => ({ name, description: name, parameters: { type: 'object' } })
const tools = ['pick', 'refund', 'search', 'count'].map(tool)

/** Has a client claim results for all calls. Returns the calls that were left to the client, and the results that the agent receives. */
async function claimResults(
  text: string,
): Promise<{ readonly pendingToolCallIds: readonly string[]; readonly answerText: string }> {
  const threadId = randomUUID()
  const askedEvents = await web.runChat(text, { threadId, tools })
  const outcome = findEvent(askedEvents, 'RUN_FINISHED')?.outcome
  const messages = ['pick-1', 'refund-1', 'search-1', 'count-1', 'never-1'].map(toolCallId => {
    return { id: randomUUID(), role: 'tool', toolCallId, content: `claimed for ${toolCallId}` }
  })
  const message = { id: randomUUID(), role: 'user', content: 'and now?' }
  const runInput = { threadId, runId: randomUUID(), tools, messages: [...messages, message] }
  const events = await readEvents(await web.postRun(runInput))
  const receivedText = events.map(event => (event as unknown as { delta?: string }).delta ?? '').join('')
  return { pendingToolCallIds: outcome?.pendingToolCallIds ?? [], answerText: receivedText }
}

test('the agent gets the result of a call that it delegated to the client', async () => {
  expect(await claimResults('pick a colour')).toEqual({
    pendingToolCallIds: ['pick-1'],
    answerText: 'heard: pick claimed for pick-1',
  })
})

test.each([
  ['the agent has answered itself', 'search for it'],
  ['somebody has to allow first', 'refund it'],
  ['an operator has to allow first', 'refund it by an operator'],
  ['the agent reported only in its trace', 'count them'],
  ['the failed turn left open', 'fail while you search'],
])('a client cannot answer a call that %s', async (_, text) => {
  expect(await claimResults(text)).toEqual({ pendingToolCallIds: [], answerText: 'heard: ' })
})

test('the gateway accepts a result once', async () => {
  const threadId = randomUUID()
  await web.runChat('pick a colour', { threadId, tools })
  const returnResult = async (content: string) => {
    const messages = [{ id: randomUUID(), role: 'tool', toolCallId: 'pick-1', content }]
    const message = { id: randomUUID(), role: 'user', content: 'and now?' }
    const events = await readEvents(
      await web.postRun({ threadId, runId: randomUUID(), tools, messages: [...messages, message] }),
    )
    return events.map(event => (event as unknown as { delta?: string }).delta ?? '').join('')
  }
  expect([await returnResult('red'), await returnResult('blue')]).toEqual(['heard: pick red', 'heard: '])
})
