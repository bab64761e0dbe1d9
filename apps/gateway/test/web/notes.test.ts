import type { BaseEvent } from '@ag-ui/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { JsonAnswer, WebGateway } from '../setup/web-gateway.ts'
import { findEvent, openWebGateway, readEvents, typesOf, typesOfSpokenRun, uniqueName } from '../setup/web-gateway.ts'

// These tests cover an agent's actions and thoughts while it works: only a chat with traces receives them, live and in the history.

const foreman = { use: '../agents/calling/foreman.ts' }
const agents = { manager: foreman, one: foreman, slow: { use: '../agents/waiting/hanging.ts' } }
const config = { agents, default_agent: 'manager' }
let web: WebGateway

beforeAll(async () => {
  web = await openWebGateway({ trace: true }, config)
})
afterAll(() => web.close())

const list = (events: readonly BaseEvent[], type: string): readonly JsonAnswer[] =>
  events.filter(event => event.type === type)
const readTrace = (threadId: string) => web.readHistory(threadId, '&include=trace')

const plan = { note: { type: 'strategic_plan', content: { phases: ['count'] } } }
const workerStep = { ask: '@one@agents.test', say: 'count the apples', broadcast: true }

describe('the stream of an agent’s actions', () => {
  test('shows a call of another agent as a subagent, from its beginning to its result (C-12, S-31)', async () => {
    const threadId = uniqueName('thread')
    const events = await web.runChat(JSON.stringify([workerStep]), { threadId })
    const started = findEvent(events, 'SUBAGENT_STARTED')
    expect(started).toMatchObject({ name: '@one@agents.test', description: 'count the apples' })
    const finished = findEvent(events, 'SUBAGENT_FINISHED')
    expect(finished).toMatchObject({ subagentRunId: started.subagentRunId, outcome: { type: 'success' } })
    expect(finished.result).toContain('has done: count the apples')
    expect(findEvent(events, 'CUSTOM')).toMatchObject({ name: 'global_observation' })
    const toolRows = (await readTrace(threadId)).map(({ metadata, content }) => [metadata.tool_name, content])
    expect(toolRows).toContainEqual([
      'delegate',
      JSON.stringify({
        name: 'delegate',
        args: started.description && {
          worker: started.name,
          task: started.description,
        },
      }),
    ])
    expect(toolRows).toContainEqual(['delegate', finished.result])
  })

  test('shows a failed call as a subagent’s error, and the run continues', async () => {
    const events = await web.runChat(JSON.stringify([{ ask: '@nobody@agents.test', say: 'anybody?' }]))
    const { subagentRunId } = findEvent(events, 'SUBAGENT_STARTED')
    expect(findEvent(events, 'SUBAGENT_ERROR')).toMatchObject({ subagentRunId, message: expect.any(String) })
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
  })

  test('gives parallel calls their own ids', async () => {
    const events = await web.runChat(
      JSON.stringify([[workerStep, { ...workerStep, say: 'and the pears' }, { ...workerStep, say: 'and figs' }]]),
    )
    const ids = list(events, 'SUBAGENT_STARTED').map(({ subagentRunId }) => subagentRunId)
    expect(new Set(ids).size).toBe(3)
    expect(
      list(events, 'SUBAGENT_FINISHED')
        .map(({ subagentRunId }) => subagentRunId)
        .sort(),
    ).toEqual(ids.sort())
  })

  test('shows plans as activities, and syntheses and broadcasts as events of their names', async () => {
    const threadId = uniqueName('thread')
    const notes = [
      plan.note,
      { type: 'script_instruction', content: 'first the left shelf' },
      { type: 'global_observation', content: 'the record store is full' },
      { type: 'synthesis', content: 'twelve', from_manager: 'manager', phase_id: 2 },
    ]
    const events = await web.runChat(JSON.stringify(notes.map(note => ({ note }))), { threadId })
    expect(list(events, 'ACTIVITY_SNAPSHOT')).toMatchObject([
      { activityType: 'plan.strategic', content: { phases: ['count'], agent_key: 'manager' } },
      { activityType: 'plan.instruction', content: { content: 'first the left shelf' } },
    ])
    expect(list(events, 'CUSTOM').map(({ name, value }) => [name, value])).toMatchObject([
      ['global_observation', { content: 'the record store is full' }],
      ['synthesis', { content: 'twelve', agent_key: 'manager', phase_id: 2 }],
    ])
    const trace = (await readTrace(threadId)).map(({ content }) => content)
    for (const word of ['first the left shelf', 'the record store is full', 'twelve', '{"phases":["count"]}']) {
      expect(trace).toContain(word)
    }
  })

  test('shows an action and its observation as one call, and current work as a step until the next (C-21)', async () => {
    const notes = [
      { type: 'task', content: 'count' },
      { type: 'action', tool: 'weigh', args: { what: 'apples' } },
      { type: 'observation', content: 'two kilos' },
      { type: 'task', content: 'write it down' },
    ]
    const events = await web.runChat(JSON.stringify(notes.map(note => ({ note }))))
    const toolCallStart = findEvent(events, 'TOOL_CALL_START')
    expect(toolCallStart.toolCallName).toBe('weigh')
    expect(list(events, 'TOOL_CALL_RESULT')).toMatchObject([
      { toolCallId: toolCallStart.toolCallId, content: 'two kilos' },
    ])
    const steps = events.flatMap(event => ('stepName' in event ? [[event.type, event.stepName]] : []))
    expect(steps.filter(([, step]) => step === 'task')).toEqual([
      ['STEP_STARTED', 'task'],
      ['STEP_FINISHED', 'task'],
      ['STEP_STARTED', 'task'],
      ['STEP_FINISHED', 'task'],
    ])
  })

  test('closes what is open when the agent fails, before the run ends (C-16)', async () => {
    const events = await web.runChat(
      JSON.stringify([plan, { note: { type: 'delegation', worker: 'one', task: 'x' } }, { fail: 'no' }]),
    )
    expect(findEvent(events, 'SUBAGENT_ERROR')).toMatchObject({ message: 'The run ended before it answered' })
    expect(events.at(-1)?.type).toBe('RUN_ERROR')
  })

  test('closes what is open when the owner cancels the run (C-18)', async () => {
    const [threadId, runId] = [uniqueName('thread'), uniqueName('run')]
    const content = JSON.stringify([plan, { ask: '@slow@agents.test', say: 'take your time' }])
    const running = await web.postRun({ threadId, runId, messages: [{ id: uniqueName('msg'), role: 'user', content }] })
    await eventually(async () => (await readTrace(threadId)).some(({ metadata }) => metadata.tool_name === 'delegate'))
    await web.requestJson('POST', `/api/v1/agent/runs/${runId}/cancel`)
    const events = await readEvents(running)
    const types = typesOf(events)
    expect(types.indexOf('SUBAGENT_ERROR')).toBeGreaterThan(types.indexOf('SUBAGENT_STARTED'))
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } })
  })
})

test('hides actions where the chat shows no traces', async () => {
  const untracedWeb = await openWebGateway({ trace: false }, config)
  try {
    const threadId = uniqueName('thread')
    const note = { note: { type: 'task', content: 'count' } }
    const events = await untracedWeb.runChat(JSON.stringify([plan, note, workerStep]), { threadId })
    expect([...new Set(typesOf(events))]).toEqual(typesOfSpokenRun('RUN_FINISHED'))
    expect(list(events, 'STEP_STARTED')).toHaveLength(1)
    expect(await untracedWeb.readHistory(threadId)).toHaveLength(2)
  } finally {
    await untracedWeb.close()
  }
})
