import { LeaseLost, Unavailable } from '@postern/message'
import { runTurn, startWorker } from '@postern/pipeline'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openTestAgent, testSystem } from '../test/gateway.ts'
import { openAgentStore, toRunningAgent } from '../test/store.ts'
import { openWebhookServer } from '../test/webhook-server.ts'

const neutral = (text: string) => ({
  status: 'failed',
  parts: [
    {
      kind: 'text',
      mime: 'text/plain',
      content: `Sorry, this could not be answered. Reference: correlation-${text}`,
    },
  ],
})

describe('a turn on a real store', () => {
  test('gets one answer, and the same commit queues its delivery', async () => {
    const { sendText, runNextTurn, findRecord, lease } = await openAgentStore()
    await sendText('hello')
    await runNextTurn(await openTestAgent({ use: 'builtin:echo' }))
    const { state, response, deliveries } = await findRecord('hello')
    expect(state).toBe('answered')
    expect(response?.parts).toMatchObject([{ content: expect.stringContaining('> hello') }])
    expect(deliveries).toMatchObject([{ to: 'https://peer.test/inbox', state: 'queued' }])
    expect(await lease()).toEqual([])
  })

  test('may end without an answer', async () => {
    const { sendText, runNextTurn, findRecord } = await openAgentStore()
    await sendText('hello')
    await runNextTurn(() => undefined)
    expect(await findRecord('hello')).toMatchObject({ state: 'ignored', response: null, deliveries: [] })
  })

  test('hides the agent’s error from the peer, and shows it to the operator', async () => {
    const { sendText, runNextTurn, findRecord } = await openAgentStore()
    await sendText('hello')
    await runNextTurn(() => Promise.reject(new Error('the password is hunter2')))
    const { state, response, error, deliveries, correlation_id } = await findRecord('hello')
    expect({ state, error, correlation_id }).toEqual({
      state: 'failed',
      error: 'the password is hunter2',
      correlation_id: 'correlation-hello',
    })
    expect(response).toMatchObject(neutral('hello'))
    expect(JSON.stringify([response, deliveries])).not.toContain('hunter2')
    expect(deliveries).toHaveLength(1)
  })

  test('fails at the deadline', async () => {
    const { sendText, runNextTurn, findRecord } = await openAgentStore()
    await sendText('hello')
    await runNextTurn({ ...toRunningAgent(() => new Promise(() => {})), deadlineMs: 10 })
    expect(await findRecord('hello')).toMatchObject({ state: 'failed', response: neutral('hello') })
  })

  test('ends its agent when somebody cancels it, and sends nothing', async () => {
    const { store, sendText, lease, turnContext, findRecord } = await openAgentStore()
    const aborted = Promise.withResolvers<unknown>()
    const started = Promise.withResolvers<void>()
    await sendText('hello')
    const [turn] = await lease()
    const running = toRunningAgent((_message, { signal }) => {
      started.resolve()
      return new Promise(() => signal.addEventListener('abort', () => aborted.resolve(signal.reason)))
    })
    const worked = runTurn(turn!, turnContext(running), new AbortController().signal)
    await started.promise
    expect(await store.cancelTask({ owner: 'alice', id: 'task-hello' })).toBe(true)
    expect(await aborted.promise).toMatchObject({ message: 'canceled' })
    await worked
    expect(await findRecord('hello')).toMatchObject({ state: 'failed', response: null, deliveries: [] })
    expect(await store.findTask({ owner: 'alice', id: 'task-hello' })).toMatchObject({ state: 'canceled' })
  })

  test('runs again when a dependency did not answer, no sooner than it asked', async () => {
    const { sendText, runNextTurn, lease, advanceClock, findRecord } = await openAgentStore()
    await sendText('hello')
    await runNextTurn(() => Promise.reject(new Unavailable('The model is busy', { retryAfter: 30 })))
    expect(await findRecord('hello')).toMatchObject({ state: 'received', error: 'The model is busy', response: null })
    advanceClock(29_999)
    expect(await lease()).toEqual([])
    advanceClock(1)
    await runNextTurn(() => 'here I am')
    expect(await findRecord('hello')).toMatchObject({
      state: 'answered',
      response: { parts: [{ content: 'here I am' }] },
    })
  })

  test('fails when nothing answers for too long', async () => {
    const { sendText, runNextTurn, advanceClock, findRecord } = await openAgentStore({ maxCrashes: 100 })
    await sendText('hello')
    const refuse = () => Promise.reject(new Unavailable('The model is busy'))
    await runNextTurn(refuse)
    // The time counts from the first attempt.
    advanceClock(3_600_000)
    await runNextTurn(refuse)
    expect(await findRecord('hello')).toMatchObject({
      state: 'failed',
      error: 'The model is busy',
      response: neutral('hello'),
    })
  })

  test('gets a failed answer if it crashes the process again when it runs alone', async () => {
    const { sendText, lease, store, runNextTurn, advanceClock, findRecord } = await openAgentStore({ maxCrashes: 2 })
    await sendText('poison')
    for (const attempt of [1, 2]) {
      const [turn] = await lease()
      expect(turn).toMatchObject({ attempt, crashes: attempt - 1 })
      if (turn && attempt > 1) await store.noteAlone(turn)
      advanceClock(60_001)
    }
    const handle = vi.fn()
    await runNextTurn(handle)
    expect(handle).not.toHaveBeenCalled()
    expect(await findRecord('poison')).toMatchObject({
      state: 'failed',
      error: 'gave up after 2 crashes',
      response: neutral('poison'),
    })
  })

  test('returns without a count when the process shuts down', async () => {
    const { sendText, runNextTurn, lease, findRecord } = await openAgentStore()
    await sendText('hello')
    const stop = new AbortController()
    await runNextTurn(() => new Promise(() => stop.abort()), stop.signal)
    expect((await findRecord('hello')).state).toBe('received')
    expect(await lease()).toMatchObject([{ attempt: 1 }])
  })

  test('cannot answer after its lease has expired', async () => {
    const { sendText, lease, turnContext, advanceClock, runNextTurn, findRecord } = await openAgentStore()
    await sendText('hello')
    const [late] = await lease()
    advanceClock(60_001)
    await runNextTurn(() => 'second')
    const worked = runTurn(late!, turnContext(toRunningAgent(() => 'first')), new AbortController().signal)
    await expect(worked).rejects.toBeInstanceOf(LeaseLost)
    expect((await findRecord('hello')).response?.parts).toMatchObject([{ content: 'second' }])
  })

  test('reports streamed chunks in order, then its end', async () => {
    const { store, sendText, runNextTurn } = await openAgentStore()
    const message = await sendText('tool one two')
    const histories: unknown[] = []
    store.listen(`message:${message}`, notice => histories.push(notice))
    await runNextTurn(await openTestAgent({ use: 'builtin:help' }))
    const call = { kind: 'tool_call', id: 'call-correlation-tool one two' }
    expect(histories).toMatchObject([
      { kind: 'part', chunk: { parts: [call] } },
      { kind: 'part', chunk: { parts: [{ ...call, result: { words: 2 } }] } },
      { kind: 'part', chunk: { parts: [{ kind: 'text', content: 'I counted 2 words.' }] } },
      { kind: 'settled' },
    ])
  })

  test('stores state only together with its answer', async () => {
    const { sendText, runNextTurn, findRecord } = await openAgentStore()
    const help = await openTestAgent({ use: 'builtin:help' })
    await sendText('remember blue')
    await runNextTurn(help)
    await sendText('break')
    await runNextTurn((_message, { state }) => {
      state.set({ remembered: 'red' })
      throw new Error('broken')
    })
    await sendText('recall')
    await runNextTurn(help)
    expect((await findRecord('recall')).response?.parts).toMatchObject([{ content: 'You told me: blue' }])
  })

  test('has its thread’s history, and the message’s files', async () => {
    const { sendText, runNextTurn, findRecord } = await openAgentStore()
    for (const text of ['one', 'two']) {
      await sendText(text)
      await runNextTurn(({ parts }) => `heard ${JSON.stringify(parts[0])}`)
    }
    await sendText('history')
    await runNextTurn(({ history = [], raw }) => JSON.stringify([history.map(({ role }) => role), raw]))
    const [part] = (await findRecord('history')).response?.parts ?? []
    expect(part).toMatchObject({ content: '[["user","assistant","user","assistant"],{"as":"it came"}]' })
  })

  test('waits for the one before it in its thread', async () => {
    const { sendText, lease, runNextTurn } = await openAgentStore()
    await sendText('one')
    await sendText('two')
    const order: string[] = []
    const note = ({ id }: { id: string }) => void order.push(id.split('/').at(-1) ?? '')
    await runNextTurn(note)
    await runNextTurn(note)
    expect(order).toEqual(['one', 'two'])
    expect(await lease()).toEqual([])
  })
})

test('a turn reaches a webhook under the same id after an outage', async () => {
  const { sendText, runNextTurn, advanceClock, findRecord } = await openAgentStore()
  let isUp = false
  const server = await openWebhookServer(() => (isUp ? { body: { text: 'back' } } : { status: 503 }))
  onTestFinished(server.close)
  const agent = await openTestAgent({ use: 'webhook', url: server.url, secret: 'shared' })
  await sendText('hello')
  await runNextTurn(agent)
  expect((await findRecord('hello')).state).toBe('received')
  isUp = true
  advanceClock(60_000)
  await runNextTurn(agent)
  expect((await findRecord('hello')).response?.parts).toMatchObject([{ content: 'back' }])
  const ids = server.received.map(({ headers }) => headers['webhook-id'])
  expect(ids).toHaveLength(2)
  expect(ids[0]).toBe(ids[1])
})

describe('a worker on a real store', () => {
  test('answers messages that arrive while it runs, and returns unfinished turns', async () => {
    const { store, sendText, turnContext, findRecord, lease } = await openAgentStore()
    const started = Promise.withResolvers<void>()
    const base = turnContext(
      toRunningAgent(({ parts }, { signal }) => {
        if (!JSON.stringify(parts).includes('stay')) return 'done'
        started.resolve()
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      }),
    )
    const system = { ...base.system, sleep: testSystem.sleep }
    const sending = { store, system, retry: base.retry, channels: [] }
    const options = {
      holder: 'worker',
      turnSlots: 4,
      turnsPerAgent: 4,
      deliverySlots: 4,
      deliveriesPerHost: 4,
      leaseMs: 60_000,
    }
    const worker = startWorker(base, sending, system, options)
    const message = await sendText('hello')
    await new Promise<void>(resolve => {
      store.listen(`message:${message}`, () => resolve())
    })
    await sendText('stay')
    await started.promise
    await worker.stop(10)
    expect((await findRecord('hello')).state).toBe('answered')
    expect((await findRecord('stay')).state).toBe('received')
    expect(await lease()).toMatchObject([{ attempt: 1, content: { id: 'https://peer.test/activities/stay' } }])
  })
})
