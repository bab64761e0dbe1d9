import type { BaseEvent } from '@ag-ui/client'
import { PROTOCOL_VERSION } from '@ag-ui/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RunIds, WebGateway } from '../setup/web-gateway.ts'
import { findEvent, openWebGateway, typesOf, uniqueName } from '../setup/web-gateway.ts'

// These tests check what a chat receives when an agent refuses, or asks for a decision that its client cannot show.

let web: WebGateway
beforeAll(async () => {
  web = await openWebGateway({}, { agents: { shop: { use: '../agents/asking/shopkeeper.ts' } }, default_agent: 'shop' })
})
afterAll(() => web.close())

const textOf = (events: readonly BaseEvent[]) =>
  events.map(event => (event as unknown as { readonly delta?: unknown }).delta ?? '').join('')
const runChat = (text: string, ids: RunIds = {}) => web.runChat(text, ids)
const interrupts = { protocolVersion: PROTOCOL_VERSION }
const address = /https:\/\/agents\.test\/actions\/[\w-]{43}/

test('a refusal is a run error with its kind, title and time, and an error in the history', async () => {
  const threadId = uniqueName('thread')
  const events = await runChat('refuse this', { threadId })
  const details = { kind: 'too_many_requests', title: 'Too many requests', retry_after_seconds: 60 }
  expect(typesOf(events)).not.toContain('RUN_FINISHED')
  expect(events.at(-1)).toMatchObject({
    type: 'RUN_ERROR',
    code: 'too_many_requests',
    message: 'Not today.',
    metadata: details,
  })
  const [question, refusal] = await web.readHistory(threadId)
  expect(refusal).toMatchObject({ role: 'assistant', content: 'Not today.', metadata: { error: details } })
  expect(question?.metadata).not.toHaveProperty('error')
})

test('an answer that is not a refusal is no error in the history', async () => {
  const threadId = uniqueName('thread')
  await runChat('hello', { threadId })
  await runChat('consent please', { threadId })
  for (const { metadata } of await web.readHistory(threadId)) expect(metadata).not.toHaveProperty('error')
})

test('a client of AG-UI 1.0 gets the URL of a decision only in the interrupt', async () => {
  const events = await runChat('consent please', interrupts)
  expect(findEvent(events, 'RUN_FINISHED').outcome.interrupts[0].metadata.url).toMatch(address)
  expect(textOf(events)).not.toMatch(address)
})

test.each([{ protocolVersion: undefined }, { protocolVersion: '0.9' }])(
  'a client without interrupts (%j) gets the link in the text, also after a reload',
  async version => {
    const threadId = uniqueName('thread')
    const events = await runChat('consent please', { threadId, ...version })
    const [url = ''] = address.exec(textOf(events)) ?? []
    expect(textOf(events)).toContain(`[Yes, hand it on](${url})`)
    const secondEvents = await runChat('hello', { threadId, ...version })
    expect(JSON.stringify(findEvent(secondEvents, 'MESSAGES_SNAPSHOT').messages)).toContain(`(${url})`)
    // The stored answer contains no address.
    const [, storedMessage] = await web.readHistory(threadId)
    expect(storedMessage?.content).not.toMatch(address)
    expect((await fetch(web.local(url))).status).toBe(200)
  },
)
