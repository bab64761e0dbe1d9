import type { Agent, AgentChunk } from '@postern/pipeline'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { joinTextParts, openA2aGateway } from '../setup/gateway.ts'
import { openStream } from '../setup/sse.ts'

const say = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const

/** There are two messages in one task. The first is answered when the second waits, and the second when the test releases it. */
let second: PromiseWithResolvers<void>
let first: PromiseWithResolvers<void>

const scripts: Readonly<Record<string, (signal: AbortSignal) => AsyncIterable<AgentChunk>>> = {
  async *first() {
    yield say('one ')
    await first.promise
    yield say('and a half')
  },
  async *second() {
    await second.promise
    yield say('two')
  },
  async *throws() {
    yield say('half ')
    yield say('of it')
    throw new Error('gone')
  },
  async *asks() {
    yield say('so far')
    yield { status: 'input_required', parts: [say('Go on?')] }
  },
  async *sections() {
    const kitchen = { id: 'x', name: 'kitchen' }
    const travel = { id: 'y', name: 'travel' }
    yield { parts: [{ ...say('Tea is '), section: kitchen }] }
    yield {
      parts: [
        { ...say('ready.'), section: kitchen },
        { ...say('The bus leaves at 9.'), section: travel },
      ],
    }
    yield { parts: [say('Anything '), say('else?')] }
  },
  async *hangs(signal) {
    yield say('half')
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  },
}

const scripted: Agent = {
  handle: ({ parts }, { signal }) => scripts[joinTextParts(parts)]?.(signal) ?? { parts: [say('?')] },
}

let gateway: A2aTestGateway
let unique = 0

beforeEach(async () => {
  first = Promise.withResolvers()
  second = Promise.withResolvers()
  gateway = await openA2aGateway({ agents: { desk: scripted } })
})
afterEach(() => gateway.close())

const stream = (text: string, overrides: object = {}) => {
  unique += 1
  const message = { messageId: `a-${unique}`, role: 'ROLE_USER', parts: [{ text }], ...overrides }
  return openStream(gateway, 'SendStreamingMessage', { message })
}
const readTask = async (id: string) => (await gateway.rpc('GetTask', { id, historyLength: 0 })).body.result

interface WireArtifact {
  readonly artifactId: string
  readonly parts: readonly { readonly text: string }[]
}
const listTexts = (artifacts: readonly WireArtifact[] = []) =>
  artifacts.map(({ artifactId, parts }) => [artifactId, parts.map(({ text }) => text).join('')])

/** Joins the artifacts of a stream as a client does. */
// biome-ignore lint/suspicious/noExplicitAny: tests read what came over the wire
function gather(events: readonly any[]): readonly (readonly string[])[] {
  const artifactTexts = new Map<string, string>(listTexts(events[0].task?.artifacts) as [string, string][])
  for (const { artifactUpdate } of events) {
    if (!artifactUpdate) continue
    const [[id = '', text = ''] = []] = listTexts([artifactUpdate.artifact])
    artifactTexts.set(id, artifactUpdate.append ? artifactTexts.get(id) + text : text)
  }
  return [...artifactTexts]
}

describe('two messages to one task', () => {
  async function sendBoth() {
    const askingTask = (await gateway.sendText('asks')).body.result.task
    const one = gateway.sendText('first', { taskId: askingTask.id })
    await expect.poll(() => gateway.receivedMessages.length).toBe(2)
    const two = gateway.sendText('second', { taskId: askingTask.id })
    await expect.poll(() => countMessages(askingTask.id)).toBe(3)
    return { id: askingTask.id as string, one, two }
  }
  const countMessages = async (id: string) =>
    (await gateway.rpc('GetTask', { id })).body.result.history.filter(
      ({ role }: { role: string }) => role === 'ROLE_USER',
    ).length

  test('both get an answer when the task is at rest, each with an artifact of the task', async () => {
    const { id, one, two } = await sendBoth()
    let isAnswered = false
    void one.then(() => {
      isAnswered = true
    })
    first.resolve()
    await expect.poll(async () => listTexts((await readTask(id)).artifacts).length).toBe(2)
    expect((await readTask(id)).status.state).not.toBe('TASK_STATE_COMPLETED')
    expect(isAnswered).toBe(false)
    second.resolve()
    const [left, right] = [(await one).body.result.task, (await two).body.result.task]
    expect(left).toEqual(right)
    expect(left.status.state).toBe('TASK_STATE_COMPLETED')
    expect(listTexts(left.artifacts).map(([, text]) => text)).toEqual(['so far', 'one and a half', 'two'])
    expect(await readTask(id)).toEqual(left)
    const { body } = await gateway.rpc('ListTasks', { includeArtifacts: true })
    expect(body.result.tasks[0].artifacts).toEqual(left.artifacts)
  })

  test('both get a stream until the task is at rest', async () => {
    const askingTask = (await gateway.sendText('asks')).body.result.task
    const one = await stream('first', { taskId: askingTask.id })
    await expect.poll(() => gateway.receivedMessages.length).toBe(2)
    const two = await stream('second', { taskId: askingTask.id })
    first.resolve()
    const firstEvents = [await one.next()]
    second.resolve()
    const events = [...firstEvents.map(event => event?.data), ...(await one.events())]
    await two.events()
    expect(events.at(-1).statusUpdate.status.state).toBe('TASK_STATE_COMPLETED')
    expect(gather(events)).toEqual(listTexts((await readTask(askingTask.id)).artifacts))
  })
})

describe('an artifact in a stream belongs to the task', () => {
  test.each([
    ['throws', 'TASK_STATE_FAILED', 'half of it'],
    ['asks', 'TASK_STATE_INPUT_REQUIRED', 'so far'],
  ])('when the agent %s after it', async (script, state, text) => {
    const events = await (await stream(script)).events()
    const streamed = gather(events)
    expect(streamed.map(([, words]) => words)).toEqual([text])
    const task = await readTask(events[0].task.id)
    expect(task.status.state).toBe(state)
    expect(listTexts(task.artifacts)).toEqual(streamed)
    expect(events.filter(event => event.artifactUpdate?.lastChunk).length).toBeLessThan(2)
  })

  test('also when its caller cancels the task afterwards', async () => {
    const open = await stream('hangs')
    const began = await open.next()
    const { id } = began?.data.task ?? {}
    const events = [began?.data]
    while (!events.at(-1)?.artifactUpdate) events.push((await open.next())?.data)
    const canceled = (await gateway.rpc('CancelTask', { id })).body.result
    events.push(...(await open.events()))
    const streamed = gather(events)
    expect(streamed.map(([, words]) => words)).toEqual(['half'])
    expect(canceled.status.state).toBe('TASK_STATE_CANCELED')
    expect(listTexts(canceled.artifacts)).toEqual(streamed)
    expect(listTexts((await readTask(id)).artifacts)).toEqual(streamed)
  })
})

test('the sections of an answer are artifacts with their names, in the stream and in the task', async () => {
  const namesOf = (artifacts: readonly { name?: string; parts: readonly { text: string }[] }[]) =>
    artifacts.map(({ name, parts }) => [name, parts.map(({ text }) => text)])
  const { task } = (await gateway.sendText('sections')).body.result
  expect(namesOf(task.artifacts)).toEqual([
    ['kitchen', ['Tea is ready.']],
    ['travel', ['The bus leaves at 9.']],
    [undefined, ['Anything ', 'else?']],
  ])
  const events = await (await stream('sections')).events()
  const streamed = await readTask(events[0].task.id)
  expect(gather(events)).toEqual(listTexts(streamed.artifacts))
  expect(new Set(streamed.artifacts.map(({ artifactId }: WireArtifact) => artifactId)).size).toBe(3)
})

test('a question is a status message, and text streamed before it is an artifact', async () => {
  const { task } = (await gateway.sendText('asks')).body.result
  expect(task.status.message.parts.map(({ text }: { text: string }) => text)).toEqual(['Go on?'])
  expect(listTexts(task.artifacts).map(([, text]) => text)).toEqual(['so far'])
})

describe('a completed answer is only an artifact (A2A §3.7)', () => {
  // biome-ignore lint/suspicious/noExplicitAny: tests read what came over the wire
  const textsOf = (value: any): readonly string[] => JSON.stringify(value).match(/(?<="text":")[^"]*/g) ?? []

  test('in the answer to SendMessage, also if the caller wants history', async () => {
    const { task } = (await gateway.sendText('plain', {}, { configuration: { historyLength: 10 } })).body.result
    expect(task.status).toEqual({ state: 'TASK_STATE_COMPLETED', timestamp: expect.any(String) })
    expect(textsOf(task)).toEqual(['?', 'plain'])
  })

  test('at the end of a stream', async () => {
    first.resolve()
    const events = await (await stream('first')).events()
    expect(events.at(-1).statusUpdate.status).toEqual({
      state: 'TASK_STATE_COMPLETED',
      timestamp: expect.any(String),
    })
    expect(textsOf(events).filter(text => text !== '')).toEqual(['one ', 'and a half'])
  })

  test('while an earlier question stays in the history, without the artifact’s text', async () => {
    const askingTask = (await gateway.sendText('asks')).body.result.task
    await gateway.sendText('plain', { taskId: askingTask.id })
    const { history, artifacts } = (await gateway.rpc('GetTask', { id: askingTask.id })).body.result
    expect(history.flatMap(textsOf)).toEqual(['asks', 'Go on?', 'plain'])
    expect(listTexts(artifacts).map(([, text]) => text)).toEqual(['so far', '?'])
  })
})
