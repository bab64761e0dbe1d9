import type { BaseEvent } from '@ag-ui/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { WebGateway } from '../setup/web-gateway.ts'
import { checkEventStream, openWebGateway, parseEvents, readEvents, typesOf, uniqueName } from '../setup/web-gateway.ts'

// These tests cover runs that a client rejoins, and conversations that another tab follows.

let web: WebGateway
beforeAll(async () => {
  const agents = { chat: { use: '../agents/chat/chatter.ts' }, other: { use: '../agents/chat/chatter.ts' } }
  web = await openWebGateway({}, { agents, default_agent: 'chat' })
})
afterAll(async () => {
  delete process.env.LINGER
  await web.close()
})

const user = (content: string) => ({ id: uniqueName('msg'), role: 'user', content })

interface Reading {
  readonly text: () => string
  /** Waits until the text so far contains or matches `pattern`. */
  waitFor(pattern: string | RegExp): Promise<void>
  leave(): Promise<void>
}

function readOn(response: Response): Reading {
  const reader = (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const reading = (async () => {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) text += chunk.value
  })().catch(() => undefined)
  return {
    text: () => text,
    async waitFor(pattern) {
      await eventually(async () => (typeof pattern === 'string' ? text.includes(pattern) : pattern.test(text)))
    },
    async leave() {
      await reader.cancel()
      await reading
    },
  }
}

interface StreamedEvent extends Pick<BaseEvent, 'type'> {
  readonly messages?: readonly { readonly id: string; readonly content: string }[]
  readonly messageId?: string
  readonly delta?: string
}

/** Returns the text of each message that a client has after these events, by message id. */
function textsOf(events: readonly BaseEvent[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  for (const { type, messages = [], messageId = '', delta = '' } of events as readonly StreamedEvent[]) {
    if (type === 'MESSAGES_SNAPSHOT') {
      texts.clear()
      for (const { id, content } of messages) texts.set(id, content)
    }
    if (type === 'TEXT_MESSAGE_START') texts.set(messageId, '')
    if (type === 'TEXT_MESSAGE_CONTENT') texts.set(messageId, `${texts.get(messageId)}${delta}`)
  }
  return texts
}

const rejoin = (runId: string, init: RequestInit & { as?: 'bob' } = {}) =>
  web.requestAs(`/api/v1/agent/runs/${encodeURIComponent(runId)}/events`, init)

async function historyOf(threadId: string) {
  return new Map((await web.readHistory(threadId)).map(({ id, content }) => [id, content]))
}

test('a client whose stream broke off rejoins by the id of the run, and gets each part of the history once', async () => {
  process.env.LINGER = '1'
  const [threadId, runId] = [uniqueName('thread'), uniqueName('run')]
  const firstMessage = readOn(await web.postRun({ threadId, runId, messages: [user('linger')] }))
  await firstMessage.waitFor('begun ')
  await firstMessage.leave()
  const secondReading = readOn(await rejoin(runId))
  await secondReading.waitFor('MESSAGES_SNAPSHOT')
  delete process.env.LINGER
  await secondReading.waitFor('RUN_FINISHED')
  const events = parseEvents(secondReading.text())
  await checkEventStream(secondReading.text(), events)
  expect(typesOf(events).slice(0, 3)).toEqual(['RUN_STARTED', 'STEP_STARTED', 'MESSAGES_SNAPSHOT'])
  expect(textsOf(events)).toEqual(await historyOf(threadId))
})

test('the gateway replays an ended run from the history, and sends nothing to a client that has read everything', async () => {
  const [threadId, runId] = [uniqueName('thread'), uniqueName('run')]
  const text = await (await web.postRun({ threadId, runId, messages: [user('count')] })).text()
  const [, lastEventId = ''] = /^id: (\S+)$/m.exec(text) ?? []
  const events = await readEvents(await rejoin(runId, { headers: { 'last-event-id': 'somewhere' } }))
  expect(textsOf(events)).toEqual(await historyOf(threadId))
  expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
  expect(typesOf(events)).not.toContain('TEXT_MESSAGE_START')
  expect((await rejoin(runId, { headers: { 'last-event-id': lastEventId } })).status).toBe(204)
})

test('a client that rejoins an ended run learns whether it failed or its owner cancelled it', async () => {
  const runs = [uniqueName('run'), uniqueName('run')] as const
  await web.runChat('boom', { runId: runs[0] })
  expect((await readEvents(await rejoin(runs[0]))).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'agent_failed' })
  process.env.LINGER = '1'
  const running = await web.postRun({ threadId: uniqueName('thread'), runId: runs[1], messages: [user('linger')] })
  await web.requestJson('POST', `/api/v1/agent/runs/${runs[1]}/cancel`)
  delete process.env.LINGER
  await running.text()
  const cancelled = await readEvents(await rejoin(runs[1]))
  expect(cancelled.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } })
})

test('the gateway shows a run or a conversation only to its owner, and only under its own agent', async () => {
  const [threadId, runId] = [uniqueName('thread'), uniqueName('run')]
  await web.runChat('count', { threadId, runId })
  const statusOf = async (path: string, as: 'ann' | 'bob' = 'ann') => (await web.requestAs(path, { as })).status
  expect(await statusOf(`/api/v1/agent/runs/${runId}/events`, 'bob')).toBe(404)
  expect(await statusOf(`/api/v1/agents/other/runs/${runId}/events`)).toBe(404)
  expect(await statusOf(`/api/v1/agent/runs/no-such-run/events`)).toBe(404)
  expect(await statusOf(`/api/v1/agent/threads/${threadId}/events`, 'bob')).toBe(404)
  expect(await statusOf(`/api/v1/agents/other/threads/${threadId}/events`)).toBe(404)
  const unproven = await fetch(`${web.gateway.url()}/api/v1/agent/runs/${runId}/events`)
  expect(unproven.status).toBe(401)
})

test('another tab shows the person’s messages and each answer as it arrives, run after run', async () => {
  const threadId = uniqueName('thread')
  await web.runChat('count', { threadId })
  const tab = readOn(await web.requestAs(`/api/v1/agent/threads/${threadId}/events`))
  await tab.waitFor('RUN_FINISHED')
  expect(textsOf(parseEvents(tab.text()))).toEqual(await historyOf(threadId))
  process.env.LINGER = '1'
  const runId = uniqueName('run')
  const running = await web.postRun({ threadId, runId, messages: [user('linger')] })
  await tab.waitFor('begun ')
  expect(tab.text()).toContain(`"runId":"${runId}"`)
  expect(tab.text().indexOf('"linger"')).toBeLessThan(tab.text().indexOf('begun '))
  delete process.env.LINGER
  await running.text()
  await web.runChat('count', { threadId })
  await tab.waitFor(/(RUN_FINISHED.*){3}/s)
  expect(textsOf(parseEvents(tab.text()))).toEqual(await historyOf(threadId))
  await tab.leave()
})

test('a tab that opens during a run follows it to its end', async () => {
  process.env.LINGER = '1'
  const threadId = uniqueName('thread')
  const running = await web.postRun({ threadId, runId: uniqueName('run'), messages: [user('linger')] })
  const tab = readOn(await web.requestAs(`/api/v1/agent/threads/${threadId}/events`))
  await tab.waitFor('MESSAGES_SNAPSHOT')
  delete process.env.LINGER
  await running.text()
  await tab.waitFor('RUN_FINISHED')
  expect(textsOf(parseEvents(tab.text()))).toEqual(await historyOf(threadId))
  await tab.leave()
})

test('a stopping gateway ends the streams of conversations at once', async () => {
  const otherGateway = await openWebGateway()
  await otherGateway.runChat('count', { threadId: 'open' })
  const tab = await otherGateway.requestAs('/api/v1/agent/threads/open/events')
  const closing = otherGateway.close()
  // The gateway ends the stream itself: `text()` would fail on a stream that the shutdown cuts off.
  expect(await tab.text()).toContain('RUN_FINISHED')
  await closing
})
