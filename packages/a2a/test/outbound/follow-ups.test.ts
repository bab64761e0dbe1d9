import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { TestPeer } from '../setup/peer.ts'
import { openAgentPeer, taskWith } from '../setup/peer.ts'
import { serveWeather } from '../setup/sdk-peer.ts'

let peer: TestPeer

beforeEach(async () => {
  peer = await openAgentPeer()
})
afterEach(() => peer.close())

const text = (content: string) => ({ kind: 'text', mime: 'text/plain', content })
const ids = { taskId: 't-1', contextId: 'c-1' }
const ask = (text: string, timestamp: string) => ({
  state: 'TASK_STATE_INPUT_REQUIRED',
  timestamp,
  message: { messageId: `m-${text}`, role: 'ROLE_AGENT', parts: [{ text }] },
})
const askingTask = { ...taskWith('').task, status: ask('Which city?', '2026-01-01T00:00:00Z') }
const askingAgainTask = { ...askingTask, status: ask('Which day?', '2026-01-01T00:00:01Z') }
const { message: _moved, ...withoutMessage } = askingTask.status
const completedTask = {
  ...taskWith('TASK_STATE_COMPLETED').task,
  artifacts: [{ artifactId: 'a', parts: [{ text: 'Sunny' }] }],
}
const methods = () => peer.requests.flatMap(({ path, body }) => (path === '/rpc' ? [body.method] : []))

/** Serves the next of `tasks` for each GetTask, and `answer` for the message. */
function serve(tasks: readonly object[], answer: object | readonly object[]): void {
  let read = 0
  peer.card.capabilities = { streaming: Array.isArray(answer) }
  const event = (result: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n\n`
  peer.answerRpc(({ body }) => {
    if (body.method === 'GetTask') {
      read += 1
      return tasks[Math.min(read, tasks.length) - 1] ?? {}
    }
    if (!Array.isArray(answer)) return answer
    return { headers: { 'content-type': 'text/event-stream' }, text: answer.map(event).join('') }
  })
}

describe.each([
  ['by one answer', false],
  ['by a stream', true],
])('an agent of the official server that answers %s', (_, streams) => {
  test('sends the question, and gets the answer in the same task', async () => {
    serveWeather(peer, { streams })
    const question = await peer.call('How will the weather be?')
    expect(question).toMatchObject({ status: 'input_required', parts: [text('Which city?')] })
    const { contextId, taskId } = question
    const answer = await peer.call('Berlin', { contextId, taskId })
    expect(answer).toMatchObject({ status: 'completed', parts: [text('Sunny in Berlin')], contextId, taskId })
  })
})

describe('a message that continues a task', () => {
  const goOn = () => peer.call('Berlin', ids)

  test('accepts a stream that begins with an update as its answer', async () => {
    const update = { artifactUpdate: { ...ids, artifact: { artifactId: 'a', parts: [{ text: 'Sunny' }] } } }
    serve(
      [askingTask],
      [
        { statusUpdate: { ...ids, status: { state: 'TASK_STATE_WORKING' } } },
        update,
        { statusUpdate: { ...ids, status: { state: 'TASK_STATE_COMPLETED' } } },
      ],
    )
    expect(await goOn()).toMatchObject({ status: 'completed', parts: [text('Sunny')], ...ids })
  })

  test('does not accept an update of another task as its answer', async () => {
    serve([askingTask], [{ statusUpdate: { ...ids, taskId: 't-2', status: { state: 'TASK_STATE_COMPLETED' } } }])
    await expect(goOn()).rejects.toThrow('it is about another task')
  })

  test.each([
    ['as it was', askingTask],
    ['without the question, which is history now', { ...askingTask, status: withoutMessage }],
  ])('does not accept the task %s as its answer', async (_, repeatedTask) => {
    serve([askingTask], [{ task: repeatedTask }, { task: completedTask }])
    expect(await goOn()).toMatchObject({ status: 'completed', parts: [text('Sunny')] })
    serve([askingTask, askingTask, completedTask], { task: repeatedTask })
    expect(await goOn()).toMatchObject({ status: 'completed', parts: [text('Sunny')] })
  })

  test('may get the next question as its answer, in any form', async () => {
    serve([askingTask], [{ task: askingAgainTask }])
    expect(await goOn()).toMatchObject({ status: 'input_required', parts: [text('Which day?')] })
    serve([askingTask], { task: askingAgainTask })
    expect(await goOn()).toMatchObject({ status: 'input_required', parts: [text('Which day?')] })
    serve([askingTask], [{ task: askingTask }, { statusUpdate: { ...ids, status: askingAgainTask.status } }])
    expect(await goOn()).toMatchObject({ status: 'input_required', parts: [text('Which day?')] })
  })

  const { status } = askingTask
  test.each<[string, object, string]>([
    ['of another time', { ...withoutMessage, timestamp: '2026-01-01T00:00:02Z' }, 'input_required'],
    ['of another state', { ...withoutMessage, state: 'TASK_STATE_AUTH_REQUIRED' }, 'auth_required'],
    ['with another message', { ...status, message: { ...status.message, messageId: 'm-other' } }, 'input_required'],
  ])('accepts a status %s as its answer', async (_, next, expected) => {
    serve([askingTask], { task: { ...askingTask, status: next } })
    expect((await goOn()).status).toBe(expected)
    expect(methods()).toEqual(['GetTask', 'SendMessage'])
  })

  test('names the caller if strangers may not see the task', async () => {
    delete peer.card.securityRequirements
    peer.answerRpc(({ headers, body }) => {
      if (!headers.authorization) return { status: 401, text: '{}' }
      return body.method === 'GetTask' ? askingTask : { task: askingAgainTask }
    })
    expect(await goOn()).toMatchObject({ parts: [text('Which day?')] })
    expect(methods()).toEqual(['GetTask', 'GetTask', 'SendMessage'])
  })

  test('begins a new task if that task is gone, also over HTTP+JSON', async () => {
    peer.card.supportedInterfaces = [
      { url: 'https://peer.test/rest', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    ]
    peer.pages.set('/rest/message:send', ({ body }) =>
      body.message.taskId ? { status: 404, text: '{}' } : { json: { task: { ...completedTask, id: 't-2' } } },
    )
    expect(await goOn()).toMatchObject({ status: 'completed', taskId: 't-2' })
  })

  test('asks for the task again when nothing has happened for long', async () => {
    serve([askingTask], { task: askingTask })
    peer.system.speedUpClock(20)
    const now = peer.system.now
    peer.system.now = () => now() + methods().length * 10_000
    expect(await goOn()).toMatchObject({ status: 'input_required', parts: [text('Which city?')] })
    expect(methods().filter(name => name === 'SendMessage')).toHaveLength(1)
  })

  test.each([
    ['has ended', () => completedTask],
    ['is gone', () => ({ json: { jsonrpc: '2.0', id: 1, error: { code: -32001, message: 'no' } } })],
  ])('begins a new task in its context if that task %s', async (_, look) => {
    peer.answerRpc(({ body }) => {
      if (body.method === 'GetTask') return look()
      if (body.params.message.taskId) return { json: { jsonrpc: '2.0', id: 1, error: { code: -32004, message: 'no' } } }
      return { task: { ...completedTask, id: 't-2' } }
    })
    expect(await goOn()).toMatchObject({ status: 'completed', taskId: 't-2' })
    expect(peer.requests.at(-1)?.body.params.message).toMatchObject({ contextId: 'c-1' })
  })

  test('passes a refusal on unchanged if the task is still open', async () => {
    peer.answerRpc(({ body }) =>
      body.method === 'GetTask'
        ? askingTask
        : { json: { jsonrpc: '2.0', id: 1, error: { code: -32004, message: 'no' } } },
    )
    await expect(goOn()).rejects.toThrow('it answered with error -32004')
    expect(methods()).toEqual(['GetTask', 'SendMessage'])
  })
})

test('a stream of a new task may begin with an update, as in a2a-go', async () => {
  serve(
    [],
    [
      { statusUpdate: { ...ids, status: { state: 'TASK_STATE_SUBMITTED' } } },
      { statusUpdate: { ...ids, status: ask('Which city?', '2026-01-01T00:00:00Z') } },
    ],
  )
  expect(await peer.call()).toMatchObject({ status: 'input_required', parts: [text('Which city?')], ...ids })
})
