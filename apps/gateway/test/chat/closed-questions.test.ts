import type { BaseEvent } from '@ag-ui/client'
import { Unavailable } from '@postern/message'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { replayAll } from '../replay/replay-gateway.ts'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway, readEvents, uniqueName } from '../setup/web-gateway.ts'

// These tests check that an agent that receives the kind `cancel` learns that its question was closed.

let web: WebGateway

beforeAll(async () => {
  const use = '../agents/asking/closer.ts'
  web = await openWebGateway(
    {},
    { agents: { curious: { use, receives: ['message', 'cancel'] }, deaf: { use } }, default_agent: 'curious' },
  )
})
afterAll(() => web.close())

async function runChat(agent: string, body: object): Promise<readonly BaseEvent[]> {
  const init = { method: 'POST', body: JSON.stringify({ protocolVersion: '1.0', runId: uniqueName('run'), ...body }) }
  return readEvents(await web.requestAs(`/api/v1/agents/${agent}/runs`, init))
}

/** Makes the agent ask a question, and answers the question with `resumeEntry`. */
async function askAndAnswer(agent: string, content: string, resumeEntry: object) {
  const threadId = uniqueName('thread')
  const events = await runChat(agent, { threadId, messages: [{ id: uniqueName('msg'), role: 'user', content }] })
  const { outcome } = events.at(-1) as BaseEvent & { outcome: { interrupts: readonly { id: string }[] } }
  const [{ id } = { id: '' }] = outcome.interrupts
  return { id, events: await runChat(agent, { threadId, messages: [], resume: [{ interruptId: id, ...resumeEntry }] }) }
}

test('an agent receives the cancellation of its question, and may answer', async () => {
  const { id, events } = await askAndAnswer('curious', 'ask', { status: 'cancelled' })
  expect(JSON.stringify(events)).toContain(`closed: ${id}`)
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
  const [newest] = await web.gateway.messages()
  const { message } = await web.gateway.readMessage(newest?.id ?? '')
  expect(message).toMatchObject({ kind: 'cancel', in_reply_to: id, parts: [] })
  const reports = await replayAll(web.gateway)
  expect(reports.filter(({ outcome }) => outcome !== 'same')).toEqual([])
  expect(reports).toHaveLength(2)
})

test('an agent gets only the cancellation, without text that the same run sends', async () => {
  const threadId = uniqueName('thread')
  const userMessage = (content: string) => [{ id: uniqueName('msg'), role: 'user', content }]
  const askedEvents = await runChat('curious', { threadId, messages: userMessage('ask') })
  const { outcome } = askedEvents.at(-1) as BaseEvent & { outcome: { interrupts: readonly { id: string }[] } }
  const resume = [{ interruptId: outcome.interrupts[0]?.id, status: 'cancelled' }]
  const events = JSON.stringify(await runChat('curious', { threadId, messages: userMessage('something else'), resume }))
  expect(events).toContain(`closed: ${outcome.interrupts[0]?.id}`)
  expect(events).toContain('messages sent together with a decision were ignored')
})

test('an agent learns once of a question that several runs close at the same time', async () => {
  const threadId = uniqueName('thread')
  const askedEvents = await runChat('curious', {
    threadId,
    messages: [{ id: uniqueName('msg'), role: 'user', content: 'ask' }],
  })
  const { outcome } = askedEvents.at(-1) as BaseEvent & { outcome: { interrupts: readonly { id: string }[] } }
  const [{ id } = { id: '' }] = outcome.interrupts
  const close = () => runChat('curious', { threadId, messages: [], resume: [{ interruptId: id, status: 'cancelled' }] })
  const closings = await Promise.all([close(), close(), close()])
  expect(closings.map(events => events.at(-1)?.type)).toEqual(['RUN_FINISHED', 'RUN_FINISHED', 'RUN_FINISHED'])
  expect(closings.filter(events => JSON.stringify(events).includes(`closed: ${id}`))).toHaveLength(1)
})

test('a person can close a question again if the gateway stopped before the agent learned of it', async () => {
  const threadId = uniqueName('thread')
  const events = await runChat('curious', {
    threadId,
    messages: [{ id: uniqueName('msg'), role: 'user', content: 'ask' }],
  })
  const { outcome } = events.at(-1) as BaseEvent & { outcome: { interrupts: readonly { id: string }[] } }
  const [{ id } = { id: '' }] = outcome.interrupts
  const close = () => runChat('curious', { threadId, messages: [], resume: [{ interruptId: id, status: 'cancelled' }] })
  const { store } = web.gateway.gateway()
  const admit = vi.spyOn(store, 'admit').mockRejectedValueOnce(new Unavailable('the store breaks off'))
  await close().catch(() => undefined)
  expect(admit).toHaveBeenCalledOnce()
  expect(JSON.stringify(await close())).toContain(`closed: ${id}`)
})

test('an agent that only receives messages gets no turn for a closed question', async () => {
  const countBefore = (await web.gateway.messages()).length
  const { events } = await askAndAnswer('deaf', 'ask', { status: 'cancelled' })
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
  expect((await web.gateway.messages()).length).toBe(countBefore + 1)
})

test.each([
  [{ status: 'cancelled' }, 'declined, cancelled: true'],
  [{ status: 'resolved', payload: { approved: false } }, 'declined, cancelled: false'],
  [{ status: 'resolved', payload: { approved: true } }, 'granted, cancelled: false'],
])('an agent can tell a cancelled consent from a declined one: %j', async (entry, text) => {
  expect(JSON.stringify((await askAndAnswer('curious', 'consent', entry)).events)).toContain(text)
})
