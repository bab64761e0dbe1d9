import { hash } from 'node:crypto'
import type { BaseEvent } from '@ag-ui/client'
import { PROTOCOL_VERSION } from '@ag-ui/core'
import { describeSendRequest, readSendResult } from '@postern/simulation'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, gatewayOrigin } from '../setup/gateway.ts'
import type { SlowGateway } from '../setup/slow-gateway.ts'
import { openSlowGateway } from '../setup/slow-gateway.ts'
import { readEvents } from '../setup/web-gateway.ts'

// These tests cover queue modes of conversations in which each message is a task of its own: over A2A, and as runs of the chat.

const token = 'token-of-ann-for-the-tests'

let gateway: SlowGateway
beforeAll(async () => {
  const use = '../agents/waiting/loiterer.ts'
  gateway = await openSlowGateway(
    {
      merge: { queue: 'merge' },
      interrupt: { queue: 'interrupt' },
      'merge-aloud': { use, queue: 'merge' },
      'interrupt-aloud': { use, queue: 'interrupt' },
    },
    {
      a2a: { limits: { wait_seconds: 20 } },
      web: { enabled: true, auth: { tokens: [{ name: 'ann', sha256: hash('sha256', token) }] } },
    },
  )
})
afterAll(() => gateway.close())

let count = 0
const nameOne = (label: string) => `${label}-${++count}`

const untilStored = (text: string) =>
  eventually(async () => (await gateway.messages()).find(({ preview }) => preview === text))

async function openClient(agent: string) {
  const { a2a } = gateway.simulation
  return a2a.client(`${gatewayOrigin}/agents/${agent}/.well-known/agent-card.json`, await a2a.token())
}

/** Sends a message, and resolves with its task once that is at rest. */
async function sendToAgent(agent: string, text: string, contextId: string) {
  const client = await openClient(agent)
  return readSendResult(await client.sendMessage(describeSendRequest(text, { contextId })))
}

/** Returns the states of a task in order, and the texts of its artifacts, as a caller receives them. */
async function stream(agent: string, text: string, contextId: string) {
  const message = { messageId: nameOne('msg'), role: 'ROLE_USER', contextId, parts: [{ text }] }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } })
  const authorization = `Bearer ${await gateway.simulation.a2a.token()}`
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0', authorization }
  const response = await fetch(`${gateway.url()}/agents/${agent}/a2a`, { method: 'POST', headers, body })
  const events = [...(await response.text()).matchAll(/^data: ?(.*)$/gm)].map(
    ([, data = '']) => JSON.parse(data).result,
  )
  const artifacts: Record<string, string> = {}
  for (const { artifact } of events.flatMap(({ artifactUpdate }) => artifactUpdate ?? [])) {
    const artifactText = artifact.parts.map((part: { readonly text: string }) => part.text).join('')
    artifacts[artifact.artifactId] = `${artifacts[artifact.artifactId] ?? ''}${artifactText}`
  }
  const states: string[] = events.flatMap(({ task, statusUpdate }) => (task ?? statusUpdate)?.status.state ?? [])
  return { states, artifacts }
}

/** Lets an agent that waits answer, as often as necessary. */
async function letAnswer<Result>(agent: string, reading: Promise<Result>): Promise<Result> {
  let isOver = false
  const endStream = () => {
    isOver = true
  }
  void reading.then(endStream, endStream)
  await eventually(async () => {
    await sendToAgent(agent, 'go', nameOne('context'))
    return isOver
  })
  return reading
}

/** Sends three messages, the last two while the first is answered, and resolves to the result of each. */
async function sendThree<Result>(
  person: string,
  sendText: (text: string) => Promise<Result>,
): Promise<readonly Result[]> {
  const firstResult = sendText(`${person} one`)
  const firstRun = await gateway.nextRun()
  const secondResult = sendText(`${person} two`)
  await untilStored(`${person} two`)
  const thirdResult = sendText(`${person} three`)
  await untilStored(`${person} three`)
  firstRun.finish()
  const mergedRun = await gateway.nextRun()
  expect(mergedRun.words).toBe(`${person} two + ${person} three`)
  mergedRun.finish()
  return Promise.all([firstResult, secondResult, thirdResult])
}

test('"merge" makes A2A messages of one context one turn, and each of their tasks ends with its answer', async () => {
  const context = nameOne('context')
  const tasks = await sendThree('ann', text => sendToAgent('merge', text, context))
  expect(new Set(tasks.map(({ taskId }) => taskId)).size).toBe(3)
  expect(tasks.map(({ state, text }) => [state, text])).toEqual([
    ['completed', 'heard ann one'],
    ['completed', 'heard ann two + ann three'],
    ['completed', 'heard ann two + ann three'],
  ])
})

test('""interrupt" cancels the older task of a context when a newer message arrives, and its waiting caller learns at once', async () => {
  const context = nameOne('context')
  const pendingResult = sendToAgent('interrupt', 'bea one', context)
  const firstRun = await gateway.nextRun()
  const secondResultPromise = sendToAgent('interrupt', 'bea two', context)
  expect((await pendingResult).state).toBe('canceled')
  expect(firstRun.context.signal.reason).toMatchObject({ kind: 'interrupted' })
  const secondRun = await gateway.nextRun()
  expect(secondRun.words).toBe('bea two')
  secondRun.finish()
  firstRun.finish()
  expect(await secondResultPromise).toMatchObject({ state: 'completed', text: 'heard bea two' })
})

test('messages of another A2A context do not affect a turn', async () => {
  const pendingResult = sendToAgent('interrupt', 'cis one', nameOne('context'))
  const firstRun = await gateway.nextRun()
  const secondResultPromise = sendToAgent('interrupt', 'cis two', nameOne('context'))
  const secondRun = await gateway.nextRun()
  firstRun.finish()
  secondRun.finish()
  expect((await Promise.all([pendingResult, secondResultPromise])).map(({ text }) => text)).toEqual([
    'heard cis one',
    'heard cis two',
  ])
})

test('"merge" gives the streams of merged tasks the same artifact, and they end as completed', async () => {
  const context = nameOne('context')
  const firstStream = stream('merge-aloud', 'dan one', context)
  await eventually(async () => (await untilStored('dan one'))?.state === 'working')
  const secondStream = stream('merge-aloud', 'dan two', context)
  await untilStored('dan two')
  const thirdStream = stream('merge-aloud', 'dan three', context)
  await untilStored('dan three')
  expect(Object.values((await letAnswer('merge-aloud', firstStream)).artifacts)).toEqual(['hm heard dan one (1)'])
  const [second, third] = await letAnswer('merge-aloud', Promise.all([secondStream, thirdStream]))
  expect(Object.values(third.artifacts)).toEqual(['hm heard dan two++dan three (2)'])
  expect(second.artifacts).toEqual(third.artifacts)
  expect([second.states.at(-1), third.states.at(-1)]).toEqual(['TASK_STATE_COMPLETED', 'TASK_STATE_COMPLETED'])
})

test('"interrupt" ends the stream of the older task as canceled', async () => {
  const context = nameOne('context')
  const firstStream = stream('interrupt-aloud', 'eve one', context)
  await untilStored('eve one')
  const secondStream = stream('interrupt-aloud', 'eve two', context)
  expect((await firstStream).states.at(-1)).toBe('TASK_STATE_CANCELED')
  const second = await letAnswer('interrupt-aloud', secondStream)
  expect(second.states.at(-1)).toBe('TASK_STATE_COMPLETED')
  expect(Object.values(second.artifacts)).toEqual(['hm heard eve two (1)'])
})

const requestChat = (path: string, init: RequestInit = {}) =>
  fetch(`${gateway.url()}/api/v1/agents/${path}`, { ...init, headers: { authorization: `Bearer ${token}` } })

async function runChat(agent: string, content: string, threadId: string): Promise<BaseEvent[]> {
  const messages = [{ id: nameOne('msg'), role: 'user', content }]
  const body = JSON.stringify({ protocolVersion: PROTOCOL_VERSION, threadId, runId: nameOne('run'), messages })
  return readEvents(await requestChat(`${agent}/runs`, { method: 'POST', body }))
}

interface StreamedEvent extends BaseEvent {
  readonly messageId?: string
  readonly delta?: string
  readonly messages?: readonly { readonly id: string; readonly content: string }[]
  readonly outcome?: { readonly type: string }
}

/** Returns the answers that a client has after a run. */
function answersOf(events: readonly BaseEvent[]): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {}
  for (const { messageId = '', delta } of events as readonly StreamedEvent[])
    if (delta !== undefined) texts[messageId] = `${texts[messageId] ?? ''}${delta}`
  return texts
}

const endOf = (events: readonly BaseEvent[]) => {
  const { type, outcome } = events.at(-1) as StreamedEvent
  return [type, outcome?.type]
}

async function readHistory(agent: string, threadId: string) {
  const response = await requestChat(`${agent}/history?threadId=${threadId}`)
  const { messages } = (await response.json()) as { messages: readonly Record<'id' | 'role' | 'content', string>[] }
  return messages
}

test('""merge" answers waiting runs of a chat thread in one turn, and each run ends with the stored answer', async () => {
  const thread = nameOne('thread')
  const streams = await sendThree('fay', text => runChat('merge', text, thread))
  expect(streams.map(endOf)).toEqual(Array(3).fill(['RUN_FINISHED', 'success']))
  const history = await readHistory('merge', thread)
  const answers = history.filter(({ role }) => role === 'assistant')
  expect(answers.map(({ content }) => content)).toEqual(['heard fay one', 'heard fay two + fay three'])
  const [firstAnswer, mergedAnswer] = answers.map(({ id, content }) => ({ [id]: content }))
  expect(streams.map(answersOf)).toEqual([firstAnswer, mergedAnswer, mergedAnswer])
})

test('"interrupt" cancels the older run of a chat at a newer one, and its text stays as in the history', async () => {
  const thread = nameOne('thread')
  const pendingEvents = runChat('interrupt-aloud', 'gus one', thread)
  await untilStored('gus one')
  const secondEventsPromise = runChat('interrupt-aloud', 'gus two', thread)
  const first = await pendingEvents
  expect(endOf(first)).toEqual(['RUN_FINISHED', 'cancelled'])
  const second = await letAnswer('interrupt-aloud', secondEventsPromise)
  expect(endOf(second)).toEqual(['RUN_FINISHED', 'success'])
  const readAnswers = async () => {
    const history = await readHistory('interrupt-aloud', thread)
    return Object.fromEntries(
      history.filter(({ role }) => role === 'assistant').map(({ id, content }) => [id, content]),
    )
  }
  // The run that was interrupted stores what the person has seen of it when its agent ends.
  await expect.poll(readAnswers).toEqual({ ...answersOf(first), ...answersOf(second) })
  expect(Object.values(answersOf(second))).toEqual(['hm heard gus two (1)'])
})

test('"merge" keeps the other runs when a person cancels one, and the agent answers them again without it', async () => {
  const thread = nameOne('thread')
  const pendingEvents = runChat('merge', 'hal one', thread)
  const firstRun = await gateway.nextRun()
  const runId = nameOne('run')
  const messages = [{ id: nameOne('msg'), role: 'user', content: 'hal two' }]
  const body = JSON.stringify({ protocolVersion: PROTOCOL_VERSION, threadId: thread, runId, messages })
  const secondEventsPromise = requestChat('merge/runs', { method: 'POST', body }).then(readEvents)
  await untilStored('hal two')
  const thirdRun = runChat('merge', 'hal three', thread)
  await untilStored('hal three')
  firstRun.finish()
  const mergedRun = await gateway.nextRun()
  expect(await (await requestChat(`merge/runs/${runId}/cancel`, { method: 'POST', body: '{}' })).json()).toEqual({
    cancelled: true,
  })
  expect(endOf(await secondEventsPromise)).toEqual(['RUN_FINISHED', 'cancelled'])
  const secondRun = await gateway.nextRun()
  expect(secondRun.words).toBe('hal three')
  secondRun.finish()
  mergedRun.finish()
  expect(Object.values(answersOf(await thirdRun))).toEqual(['heard hal three'])
  await pendingEvents
})
