import type { BaseEvent } from '@ag-ui/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import { uniqueName } from '../setup/web-gateway.ts'
import type { PeopleChatGateway } from './chat-gateway.ts'
import { openPeopleChatGateway } from './chat-gateway.ts'

// These tests cover C-30 and C-24 together: the requirements of an agent in a conversation that began elsewhere, for a person who writes from the
// chat.

const alice = 'https://mastodon.test/users/alice'
let gateway: PeopleChatGateway
let threadId = ''

beforeAll(async () => {
  gateway = await openPeopleChatGateway({
    agents: { desk: { use: '../agents/asking/decider.ts', people: { link: true }, queue: 'merge' } },
  })
  await gateway.askByPost('hello there')
  await gateway.linkAccount('alice@mastodon.test')
  threadId = (await gateway.threads()).find(({ via }) => via === 'activitypub')?.threadId ?? ''
})
afterAll(() => gateway.close())

interface Outcome {
  readonly outcome: { readonly type: string; readonly interrupts?: readonly { readonly id: string }[] }
}

const outcomeOf = (events: readonly BaseEvent[]) => (events.at(-1) as unknown as Outcome).outcome

const countNotes = (text: string) =>
  new Set(
    gateway.gateway.simulation.fediverse.received.flatMap(({ activity }) => {
      const note = activity.object as { id: string; content?: string; to?: readonly string[] } | undefined
      return note?.to?.includes(alice) && note.content?.includes(text) ? [note.id] : []
    }),
  ).size

test('a person decides a fediverse requirement in the chat, and both channels get the answer once (C-30, C-24)', async () => {
  const question = await gateway.chat('may I do it?', { threadId })
  const [interrupt] = outcomeOf(question.events).interrupts ?? []
  const resume = [{ interruptId: interrupt?.id, status: 'resolved', payload: { approved: true } }]
  const body = { threadId, runId: uniqueName('run'), messages: [], resume }
  // Another person can decide nothing, and learns nothing.
  const otherRun = await gateway.postRun({ ...body, runId: uniqueName('run'), threadId: uniqueName('thread') }, 'bob')
  expect(await otherRun.text()).toContain('not_decided')
  expect(await (await gateway.postRun(body)).text()).toContain('decided: granted')
  await eventually(async () => countNotes('decided: granted') === 1)
  const messages = (await gateway.read(threadId)).map(({ role, content, metadata }) => [role, content, metadata.via])
  expect(messages.slice(-1)).toEqual([['assistant', 'decided: granted', 'activitypub']])
  expect((await gateway.postRun(body)).status).toBe(409)
})

test('a person cancels a run of a fediverse thread in the chat, and the gateway delivers nothing of it (C-18)', async () => {
  const question = await gateway.chat('may I do it slowly?', { threadId })
  const [interrupt] = outcomeOf(question.events).interrupts ?? []
  const resume = [{ interruptId: interrupt?.id, status: 'resolved', payload: { approved: true } }]
  const runId = uniqueName('run')
  const running = await gateway.postRun({ threadId, runId, messages: [], resume })
  await eventually(async () => (await gateway.gateway.messages()).some(({ state }) => state === 'working'))
  const cancelled = await gateway.requestAs(`/api/v1/agents/desk/runs/${runId}/cancel`, { method: 'POST' })
  expect(await cancelled.json()).toEqual({ cancelled: true })
  expect(await running.text()).toContain('"cancelled"')
  expect(countNotes('decided: granted')).toBe(1)
})

test('simultaneous messages by both channels each get an answer, in order (C-30)', async () => {
  const [fromThere, fromHere] = await Promise.all([
    gateway.askByPost('from there'),
    gateway.chat('from here', { threadId }),
  ])
  expect(fromThere.text).toContain('heard: from there')
  expect(fromHere.text).toBe('heard: from here')
})
