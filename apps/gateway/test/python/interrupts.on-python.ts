// Tests questions of LangGraph behind AG-UI.
import type { BaseEvent } from '@ag-ui/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { decide, findActionPath } from '../setup/requirement-steps.ts'
import type { JsonAnswer, WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway, readEvents, uniqueName } from '../setup/web-gateway.ts'
import type { PythonServer } from './python-server.ts'
import { startUvicorn } from './python-server.ts'

// These tests cover the questions of LangGraph, as the current `ag-ui-langgraph` asks them.

const graphs = [
  ...(['text', 'order', 'approval', 'approval-outcome', 'together', 'together-outcome', 'fail'] as const),
  ...(['checked-approval', 'checked-order', 'batched', 'per_call'] as const),
]
type Graph = (typeof graphs)[number]

let server: PythonServer
let web: WebGateway

beforeAll(async () => {
  server = await startUvicorn(import.meta.dirname, 'interrupting_graphs:app')
  const agent = (graph: Graph) => ({ use: 'ag-ui', url: `${server.url}/${graph}`, keeps_history: true })
  web = await openWebGateway(
    {},
    {
      agents: Object.fromEntries(graphs.map(graph => [graph, agent(graph)])),
      default_agent: 'text',
    },
  )
}, 120_000)
afterAll(async () => {
  await web?.close()
  server?.stop()
})

const mail = (to: Graph, text: string, thread?: string) =>
  web.gateway.simulation.send({ via: 'email', to, text, ...(thread && { thread }) })

interface Interrupt {
  readonly id: string
  readonly message?: string
}

/** Runs the chat once. Returns its text, and the questions at its end. */
async function chat(agent: Graph, threadId: string, input: { text?: string; resume?: readonly object[] }) {
  const { text, resume } = input
  const messages = text === undefined ? [] : [{ id: uniqueName('msg'), role: 'user', content: text }]
  const body = { protocolVersion: '1.0', threadId, runId: uniqueName('run'), messages, ...(resume && { resume }) }
  const response = await web.requestAs(`/api/v1/agents/${agent}/runs`, { method: 'POST', body: JSON.stringify(body) })
  const events = await readEvents(response)
  // LangGraph sends its whole state, which must not reach the chat.
  expect(events.map(({ type }) => type)).not.toContain('STATE_SNAPSHOT')
  const { outcome } = events.at(-1) as BaseEvent & { outcome?: { type: string; interrupts?: readonly Interrupt[] } }
  const texts = events.flatMap(event =>
    'delta' in event && event.type === 'TEXT_MESSAGE_CONTENT' ? [event.delta] : [],
  )
  return { said: texts.join(''), outcome, interrupts: outcome?.interrupts ?? [] }
}

const answerOf = ({ interrupts }: { interrupts: readonly Interrupt[] }, payload: unknown) => [
  { interruptId: interrupts[0]?.id, status: 'resolved', payload },
]

/** Sends a message over A2A in one task. Returns the task's texts. */
async function sendParts(agent: Graph, parts: readonly object[], taskId?: string) {
  const message = { messageId: uniqueName('msg'), role: 'ROLE_USER', parts, ...(taskId && { taskId }) }
  const { task } = await callMethod(agent, 'SendMessage', { message })
  return { id: task.id as string, task: JSON.stringify(task) }
}

async function callMethod(agent: Graph, method: string, params: object): Promise<JsonAnswer> {
  const token = await web.gateway.simulation.a2a.token({ sub: 'carol' })
  const response = await fetch(`${web.gateway.url()}/agents/${agent}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', authorization: `Bearer ${token}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return ((await response.json()) as JsonAnswer).result
}

async function readNewestAnswer(): Promise<string> {
  const [newest] = await web.gateway.messages()
  return JSON.stringify((await web.gateway.readMessage(newest?.id ?? '')).response ?? '')
}

describe('a question of LangGraph', () => {
  test.each([
    ['text', 'Bob', "node got 'Bob'"],
    ['text', '4711', "node got '4711'"],
    ['text', '"quoted"', `node got '"quoted"'`],
    ['order', '{"number": 4711}', "node got {'number': 4711}"],
    ['checked-order', '{"number": 4711}', 'node got Order(number=4711)'],
  ] as const)('receives the text of a mail in the format of its schema (%s, %s)', async (graph, text, expectedText) => {
    const result = await mail(graph, 'hello')
    expect(result.reply?.text).toMatch(/^(What is your name|Which order)\?/)
    expect((await mail(graph, text, result.thread)).reply?.text).toContain(expectedText)
  })

  test('receives the text of a post', async () => {
    const sendMail = (text: string, thread?: string) =>
      web.gateway.simulation.send({ via: 'activitypub', to: 'order', text, ...(thread && { thread }) })
    const result = await sendMail('hello')
    expect(result.reply?.text).toContain('Which order?')
    expect((await sendMail('{"number": 4711}', result.thread)).reply?.text).toContain("node got {'number': 4711}")
  })

  test('receives JSON from a chat client and from a data part of another agent', async () => {
    const threadId = uniqueName('thread')
    const question = await chat('text', threadId, { text: 'hello' })
    expect(question.interrupts).toMatchObject([{ message: 'What is your name?' }])
    const secondReply = await chat('text', threadId, { resume: answerOf(question, { first: ['Bob'] }) })
    expect(secondReply).toMatchObject({ said: "node got {'first': ['Bob']}", outcome: { type: 'success' } })

    const { id, task } = await sendParts('text', [{ text: 'hello' }])
    expect(task).toContain('What is your name?')
    expect((await sendParts('text', [{ data: { first: ['Bob'] } }], id)).task).toContain("node got {'first': ['Bob']}")
  })

  test.each([
    ['text', [{ status: 'cancelled' }], /node got \{'__agui_cancelled__': True/],
    [
      'together',
      [{ status: 'resolved', payload: 'L' }, { status: 'cancelled' }],
      /'L', two got \{'__agui_cancelled__'/,
    ],
    ['approval', [{ status: 'cancelled' }], /node got \{'__agui_cancelled__': True/],
  ] as const)('resumes with a cancellation by a person (%s)', async (graph, entries, expectedText) => {
    const threadId = uniqueName('thread')
    let reply = await chat(graph, threadId, { text: 'hello' })
    for (const entry of entries) {
      reply = await chat(graph, threadId, { resume: [{ interruptId: reply.interrupts[0]?.id, ...entry }] })
    }
    expect(reply.said).toMatch(expectedText)
  })

  test.each([
    ['text', /node got \{'__agui_cancelled__': True/],
    ['together', /'__agui_cancelled__'.*two got \{'__agui_cancelled__'/],
    ['checked-approval', /approved=False/],
  ] as const)('resumes when an A2A client cancels the task (%s)', async (graph, expectedText) => {
    const { id } = await sendParts(graph, [{ text: 'hello' }])
    expect((await callMethod(graph, 'CancelTask', { id })).status.state).toBe('TASK_STATE_CANCELED')
    await expect.poll(() => readNewestAnswer()).toMatch(expectedText)
  })

  test.each(['together', 'together-outcome'] as const)(
    'gets its own answer when another question is open (%s)',
    async graph => {
      const threadId = uniqueName('thread')
      const first = await chat(graph, threadId, { text: 'hello' })
      expect(first.interrupts).toMatchObject([{ message: 'Which size?' }])
      const second = await chat(graph, threadId, { resume: answerOf(first, 'L') })
      expect(second.interrupts).toMatchObject([{ message: '- amount: 20\n- currency: EUR' }])
      const finalReply = await chat(graph, threadId, { resume: answerOf(second, false) })
      expect(finalReply).toMatchObject({ said: "one got 'L', two got False", outcome: { type: 'success' } })
    },
  )

  test('returns once after an error, and then the turn fails', async () => {
    const { reply, thread } = await mail('fail', 'hello')
    expect(reply?.text).toContain('Which order?')
    expect((await mail('fail', '4711', thread)).reply?.text).toMatch(/Please answer again.\s+Which order\?/)
    const lastReply = await mail('fail', '4712', thread)
    expect(lastReply.reply?.text).not.toMatch(/Which order|hunter2/)
    expect((await mail('fail', 'hello', thread)).reply?.text).toContain('Which order?')
  })
})

describe('a question of LangGraph with a boolean `approved`', () => {
  test.each([
    ['grant', "node got {'approved': True}"],
    ['decline', "node got {'approved': False}"],
  ])('gets the decision of a link (%s)', async (decision, text) => {
    const { reply } = await mail('approval', 'refund')
    expect(reply?.text).toContain('Refund 20 euros?')
    await decide(web.gateway, findActionPath(reply?.text ?? ''), decision)
    await expect.poll(readNewestAnswer, { timeout: 30_000 }).toContain(text)
  })

  test.each(['approval', 'approval-outcome'] as const)('gets the decision of a button (%s)', async graph => {
    const threadId = uniqueName('thread')
    const question = await chat(graph, threadId, { text: 'refund' })
    expect(question.interrupts).toMatchObject([{ message: 'Refund 20 euros?', responseSchema: expect.anything() }])
    const finalReply = await chat(graph, threadId, { resume: answerOf(question, { approved: false }) })
    expect(finalReply).toMatchObject({ said: "node got {'approved': False}", outcome: { type: 'success' } })
  })

  test.each([
    [{ status: 'resolved', payload: { approved: true } }, 'node got Approval(approved=True)'],
    [{ status: 'cancelled' }, 'node got Approval(approved=False)'],
  ])('passes LangGraph’s own check: %j', async (entry, text) => {
    const threadId = uniqueName('thread')
    const question = await chat('checked-approval', threadId, { text: 'refund' })
    expect(question.interrupts).toMatchObject([{ message: 'Refund 20 euros?' }])
    const finalReply = await chat('checked-approval', threadId, {
      resume: [{ ...answerOf(question, true)[0], ...entry }],
    })
    expect(finalReply.said).toBe(text)
  })
})

describe('LangChain calls that wait for a review', () => {
  const decideAll = async (graph: Graph, ...decisions: readonly boolean[]) => {
    const threadId = uniqueName('thread')
    let reply = await chat(graph, threadId, { text: 'refund' })
    for (const approved of decisions) {
      expect(reply.interrupts).toMatchObject([{ message: expect.stringContaining('Tool: refund') }])
      reply = await chat(graph, threadId, { resume: answerOf(reply, { approved }) })
    }
    return reply.said
  }

  test('get one decision together, or one each', async () => {
    expect(await decideAll('batched', true)).toBe('refunded 20, refunded 30')
    expect(await decideAll('batched', false)).toBe('User rejecte, User rejecte')
    expect(await decideAll('per_call', false, true)).toMatch(/^User rejecte, refunded (20|30)$/)
  })
})
