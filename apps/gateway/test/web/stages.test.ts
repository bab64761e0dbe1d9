import type { BaseEvent } from '@ag-ui/client'
import { exchangeFormats } from '@postern/transcript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, operatorToken } from '../setup/gateway.ts'
import type { JsonAnswer, WebGateway } from '../setup/web-gateway.ts'
import { findEvent, openWebGateway, readEvents, uniqueName } from '../setup/web-gateway.ts'

// These tests cover the stages that an agent names, as steps of a run and in its history. Each word of a message
// names a stage that the agent begins; with a leading `+`, it reports the stage in its answer. A word with `!` makes the agent call a tool, wait or fail.

let web: WebGateway

beforeAll(async () => {
  web = await openWebGateway(
    { trace: true },
    { agents: { chat: { use: '../agents/chat/stepper.ts' } }, default_agent: 'chat' },
  )
})
afterAll(() => web.close())

const stepsOf = (events: readonly BaseEvent[]): readonly JsonAnswer[] =>
  events.filter(({ type }) => type.startsWith('STEP_'))
const formatSteps = (events: readonly BaseEvent[]) =>
  stepsOf(events).map(({ type, stepName }) => `${type === 'STEP_STARTED' ? '+' : '-'}${stepName}`)

const byStage = (a: JsonAnswer, b: JsonAnswer) => (a.stage < b.stage ? -1 : 1)

describe('a stage that an agent names (C-19)', () => {
  test('is a pair of steps in order, with the same data as in the history', async () => {
    const [threadId, runId] = [uniqueName('thread'), uniqueName('run')]
    const events = await web.runChat('intent +tool_choice answer', { threadId, runId })
    expect(formatSteps(events)).toEqual([
      '+execution',
      '+intent',
      '-intent',
      '+tool_choice',
      '-tool_choice',
      '+answer',
      '-answer',
      '-execution',
    ])
    const { messageId } = findEvent(events, 'TEXT_MESSAGE_START')
    const stageMetadata = stepsOf(events).flatMap(({ metadata }) => metadata ?? [])
    for (const metadata of stageMetadata) {
      expect(metadata).toEqual({
        run_id: runId,
        stage: expect.any(String),
        latency_ms: expect.any(Number),
        message_id: messageId,
      })
      expect(Number.isInteger(metadata.latency_ms) && metadata.latency_ms >= 0).toBe(true)
    }
    const storedRows = (await web.readHistory(threadId, '&include=trace')).filter(({ role }) => role !== 'user')
    expect(storedRows.map(({ metadata }) => metadata).toSorted(byStage)).toEqual(stageMetadata.toSorted(byStage))
    expect((await web.readHistory(threadId)).map(({ content }) => content).at(-1)).toBe('done')
    expect(await web.readHistory(threadId)).toHaveLength(2)
  })

  test('contains its tool calls', async () => {
    expect(formatSteps(await web.runChat('intent call! answer'))).toEqual([
      '+execution',
      '+intent',
      '+tool_execution',
      '-tool_execution',
      '-intent',
      '+answer',
      '-answer',
      '-execution',
    ])
  })

  test('may have the name of a stage of the gateway', async () => {
    expect(formatSteps(await web.runChat('execution tool_execution call!'))).toEqual([
      '+execution',
      expect.stringMatching(/^\+execution store-\d+\.note 1$/),
      expect.stringMatching(/^-execution store-/),
      '+tool_execution',
      '+tool_execution call-1',
      '-tool_execution call-1',
      '-tool_execution',
      '-execution',
    ])
  })

  test('ends when its run fails or its owner cancels the run', async () => {
    const failedEvents = await web.runChat('intent fail!')
    expect(formatSteps(failedEvents)).toEqual(['+execution', '+intent', '-intent', '-execution'])
    expect(failedEvents.at(-1)?.type).toBe('RUN_ERROR')
    expect(formatSteps(await web.runChat('intent later!'))).toEqual(['+execution', '+intent', '-intent', '-execution'])
    const [threadId, runId] = [uniqueName('thread'), uniqueName('run')]
    const messages = [{ id: uniqueName('msg'), role: 'user', content: 'intent wait!' }]
    const runResponse = await web.postRun({ threadId, runId, messages })
    await eventually(async () => (await web.gateway.messages()).some(({ state }) => state === 'working'))
    await web.requestJson('POST', `/api/v1/agent/runs/${runId}/cancel`)
    const events = await readEvents(runResponse)
    const steps = formatSteps(events)
    expect(steps.filter(step => step.startsWith('+'))).toHaveLength(steps.length / 2)
    expect(events.at(-1)).toMatchObject({ outcome: { type: 'cancelled' } })
  })

  test('fails the turn if its name is invalid', async () => {
    expect((await web.runChat('<b>')).at(-1)?.type).toBe('RUN_ERROR')
    expect((await web.runChat('+<b>')).at(-1)?.type).toBe('RUN_ERROR')
  })

  test('appears in every export, and importing it changes nothing', async () => {
    const threadId = uniqueName('thread')
    await web.runChat('intent', { threadId })
    const historyBefore = await web.readHistory(threadId, '&include=trace')
    const conversation = {
      owner: 'web:["https://agents.test","ann"]',
      thread: `web:${JSON.stringify(['chat', threadId])}`,
    }
    for (const format of exchangeFormats) {
      const query = new URLSearchParams({ ...conversation, format })
      const { messages } = await web.gateway.requestOperator<{ messages: readonly object[] }>(`/transcript?${query}`)
      const response = await fetch(`${web.gateway.url()}/operator/api/transcript?${query}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${operatorToken}` },
        body: JSON.stringify({ messages }),
      })
      expect([format, response.status, await response.json()]).toMatchObject([format, 200, { added: 0 }])
    }
    expect(await web.readHistory(threadId, '&include=trace')).toEqual(historyBefore)
  })
})
