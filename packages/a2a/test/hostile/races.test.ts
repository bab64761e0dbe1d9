import { setTimeout as delay } from 'node:timers/promises'
import type { Agent } from '@postern/pipeline'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { A2aTestGateway } from '../setup/gateway.ts'
import { openA2aGateway } from '../setup/gateway.ts'
import { openStream } from '../setup/sse.ts'

/** An agent that sends two pieces, asks one question, and then answers. */
const talker: Agent = {
  async *handle({ parts }, { signal }) {
    const text = parts.map(part => (part.kind === 'text' ? part.content : '')).join('')
    await delay(Math.random() * 8)
    signal.throwIfAborted()
    yield { parts: [{ kind: 'text' as const, mime: 'text/plain' as const, content: `${text} one ` }] }
    await delay(Math.random() * 8)
    yield { parts: [{ kind: 'text' as const, mime: 'text/plain' as const, content: 'two' }] }
    if (text === 'ask') yield { status: 'input_required' as const }
  },
}

let gateway: A2aTestGateway
beforeEach(async () => {
  gateway = await openA2aGateway({ agents: { talker }, config: { limits: { streams_per_caller: 120 } } })
})
afterEach(() => gateway.close())

const terminal = /COMPLETED|FAILED|CANCELED|REJECTED/
// biome-ignore lint/suspicious/noExplicitAny: tests read what came over the wire
const stateOf = (event: any): string | undefined => (event.task ?? event.statusUpdate)?.status.state

let unique = 0
const messageOf = (text: string, overrides: object = {}) => {
  unique += 1
  return { message: { messageId: `race-${unique}`, role: 'ROLE_USER', parts: [{ text }], ...overrides } }
}

test('cancels and answers at once give one end, on which every stream, cancel and task agree', async () => {
  const runs = Array.from({ length: 60 }, async (_, at) => {
    const sender = await openStream(gateway, 'SendStreamingMessage', messageOf('go'), {
      binding: at % 2 ? 'rpc' : 'rest',
    })
    const first = (await sender.next())?.data
    const { id } = first.task
    const other = await openStream(gateway, 'SubscribeToTask', { id })
    await delay(Math.random() * 20)
    const cancels = await Promise.all([gateway.rpc('CancelTask', { id }), gateway.rpc('CancelTask', { id })])
    const events = [first, ...(await sender.events())]
    const subscribedEvents =
      other.status === 200 && other.headers.get('content-type') === 'text/event-stream' ? await other.events() : []
    const { state } = (await gateway.rpc('GetTask', { id })).body.result.status
    const ends = events.map(stateOf).filter(each => each && terminal.test(each))
    const won = cancels.filter(({ body }) => body.result).length
    expect(won).toBe(state === 'TASK_STATE_CANCELED' ? 1 : 0)
    expect(ends).toEqual([state])
    const last = subscribedEvents.map(stateOf).findLast(each => each !== undefined)
    if (last !== undefined) expect(last).toBe(state)
    return state
  })
  expect(await Promise.all(runs)).toHaveLength(60)
})

test('each of many simultaneous messages to one asking task gets one answer', async () => {
  const askingTask = await gateway.rpc('SendMessage', messageOf('ask'))
  const { id } = askingTask.body.result.task
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => gateway.rpc('SendMessage', messageOf('ask', { taskId: id }))),
  )
  expect(answers.filter(({ body }) => body.error)).toEqual([])
  const { history } = (await gateway.rpc('GetTask', { id })).body.result
  const userMessages = history.filter(({ role }: { role: string }) => role === 'ROLE_USER')
  expect(userMessages).toHaveLength(21)
  expect(gateway.receivedMessages).toHaveLength(21)
})

test('twenty simultaneous copies of a message run once and get one task', async () => {
  const params = messageOf('go')
  const answers = await Promise.all(Array.from({ length: 20 }, () => gateway.rpc('SendMessage', params)))
  const ids = answers.map(({ body }) => body.result.task.id)
  expect([new Set(ids).size, gateway.receivedMessages.length]).toEqual([1, 1])
  const states = answers.map(({ body }) => body.result.task.status.state)
  expect(new Set(states)).toEqual(new Set(['TASK_STATE_COMPLETED']))
})

test('streams that clients abort at any moment leave no listener', async () => {
  const open = async () => {
    const controller = new AbortController()
    const aborted = delay(Math.random() * 12).then(() => controller.abort())
    const stream = await openStream(gateway, 'SendStreamingMessage', messageOf('go'))
    await Promise.race([stream.next(), aborted])
    await stream.abort()
  }
  await Promise.all(Array.from({ length: 80 }, open))
  const again = await Promise.all(
    Array.from({ length: 120 }, () => openStream(gateway, 'SendStreamingMessage', messageOf('go'))),
  )
  expect(again.filter(({ status }) => status !== 200)).toEqual([])
  await Promise.all(again.map(stream => stream.abort()))
}, 60_000)
