import type { HistoricalMessage } from '@postern/message'
import { Unavailable } from '@postern/message'
import { createSlidingWindowPolicy } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { openAgui } from '../../test/agui-agent.ts'
import { eventsOf, finished, runOf, textEvent } from '../../test/agui-server.ts'
import { aliceSender, testMessage } from '../../test/gateway.ts'
import { textOfAnswer } from '../../test/model-agent.ts'
import type { ModelReply } from '../../test/model-server.ts'

const answerTo = async (...events: readonly object[]) => (await (await openAgui([runOf(...events)])).ask()).answer

const turn = (role: 'user' | 'assistant', content: string, id: string): HistoricalMessage => ({
  id,
  role,
  sender: { address: role === 'user' ? '@alice@peer.test' : '@subject@agents.test' },
  parts: [{ kind: 'text', mime: 'text/plain', content }],
  timestamp: '2026-01-01T00:00:00Z',
})

describe('a run', () => {
  test('contains the conversation, the verified sender, and ids that do not reveal peers', async () => {
    const { ask, server } = await openAgui(() => runOf(textEvent('hi')), {
      api_key: 'token',
      forwarded_props: { mode: 'x' },
    })
    const history = [turn('user', 'one', 'u1'), turn('assistant', 'two', 'a1')]
    const message = testMessage('three', { sender: aliceSender })
    const person = { id: 'p1', addresses: [{ via: 'a2a', address: '@alice@peer.test' }] }
    const contextOverrides = { flags: ['hidden_text'], person, isPublic: async () => true }
    await ask(message, { history: () => ({ turns: history }), ...contextOverrides })
    await ask(message, { history: () => ({ turns: history }) })
    const [first, second] = server.inputs()
    expect(server.requests[0]?.headers).toMatchObject({ authorization: 'Bearer token', accept: 'text/event-stream' })
    expect(first?.messages.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'one'],
      ['assistant', 'two'],
      ['user', 'three'],
    ])
    expect(first).toMatchObject({ state: {}, tools: [], forwardedProps: { mode: 'x' } })
    expect(JSON.parse(first?.context[0]?.value ?? '')).toEqual({
      address: '@alice@peer.test',
      verified: true,
      auth_method: 'ap-http-signature',
      identities: aliceSender.identities,
      person,
      recipient: message.recipient,
      received_via: 'a2a',
      is_public: true,
      flags: ['hidden_text'],
    })
    const ids = [first?.threadId, first?.runId, ...(first?.messages ?? []).map(({ id }) => id)]
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(new Set(ids).size).toBe(5)
    expect(second?.messages).toEqual(first?.messages)
  })

  test('gives a message one id in all runs, and an answer the server’s id', async () => {
    const { ask, server } = await openAgui(() => runOf(textEvent('two', 'run-7')))
    await ask(testMessage('one'))
    const [question] = server.inputs()[0]?.messages ?? []
    const laterMessage = testMessage('three', { id: 'm3' })
    const turns = [turn('user', 'one', testMessage('').id), turn('assistant', 'two', 'response-1')]
    await ask(laterMessage, { history: () => ({ turns }), responseId: 'response-2' })
    expect(server.inputs()[1]?.messages).toMatchObject([
      question,
      { id: 'run-7', content: 'two' },
      { content: 'three' },
    ])
    await ask(laterMessage, { history: () => ({ turns: turns.slice(1) }), responseId: 'response-3' })
    expect(server.inputs()[2]?.messages).toMatchObject([{ id: 'run-7' }, { content: 'three' }])
    await ask(laterMessage, { history: () => ({ turns: [turn('assistant', 'two', 'response-2')] }) })
    expect(server.inputs()[3]?.messages[0]?.id).not.toBe('run-7')
  })

  test('changes the id of a message whose text has changed, because LangGraph would rewind to it', async () => {
    const { ask, server } = await openAgui(() => runOf(textEvent('hi')))
    await ask(testMessage('one', { id: 'm1' }))
    const joined = turn('user', 'one', 'm1')
    const turns = [{ ...joined, parts: [...joined.parts, ...turn('user', 'two', 'm2').parts] }]
    await ask(testMessage('three', { id: 'm3' }), { history: () => ({ turns }) })
    const [first, second] = server.inputs().map(({ messages }) => messages[0]?.id)
    expect(second).not.toBe(first)
  })

  test('gives messages with a common answer their ids from the history', async () => {
    const { ask, server } = await openAgui(() => runOf(textEvent('hi')))
    const merged = [{ id: 'm1', received_at: '2026-01-01T00:00:00.000Z', part_count: 1 }]
    const parts = [...turn('user', 'one', '').parts, ...turn('user', '@bob@peer.test:', '').parts]
    await ask(testMessage('', { id: 'm2', merged, parts }))
    const turns = [turn('user', 'one', 'm1'), turn('user', '> @bob@peer.test:', 'm2')]
    await ask(testMessage('three', { id: 'm3' }), { history: () => ({ turns }) })
    const [first, second] = server.inputs().map(({ messages }) => messages.slice(0, 2))
    expect(second).toEqual(first)
  })

  test('contains each message that no answer separates from the next under its own id', async () => {
    const { ask, server } = await openAgui(() => runOf(textEvent('hi')))
    const bob = { ...turn('user', 'from Bob', 'm3'), sender: { address: '@bob@peer.test' } }
    const past = [turn('user', 'one', 'm1'), turn('user', 'two', 'm2'), bob, turn('assistant', 'hi', 'a1')]
    const entries = past.map(({ id = '', role, sender: author, parts, timestamp: at }, index) => {
      return { seq: index + 1, entryId: `e${index}`, nativeId: id, role, author, parts, at }
    })
    const viewUntil = (count: number) => createSlidingWindowPolicy().view(entries.slice(0, count))
    await ask(testMessage('one', { id: 'm1' }), { history: () => ({ turns: [] }) })
    await ask(testMessage('two', { id: 'm2' }), { history: () => viewUntil(1) })
    await ask(testMessage('four', { id: 'm4' }), { history: () => viewUntil(4) })
    const [first = [], second = [], third = []] = server.inputs().map(({ messages }) => messages)
    expect(second.slice(0, 1)).toEqual(first)
    expect(third.slice(0, 2)).toMatchObject(second)
    expect(third.map(({ content }) => content)).toEqual(['one', 'two', 'from Bob', 'hi', 'four'])
    expect(third[2]).toMatchObject({ name: '@bob@peer.test' })
  })

  test('contains only the new message if `keeps_history` is set', async () => {
    const { ask, server } = await openAgui(() => runOf(textEvent('hi')), { keeps_history: true })
    await ask('two', { history: () => ({ turns: [turn('user', 'one', 'u1')] }) })
    const [run] = server.inputs()
    expect(run?.messages).toMatchObject([{ content: 'two' }])
    expect(JSON.parse(run?.context[0]?.value ?? '')).toMatchObject({ verified: false, auth_method: 'none' })
  })

  test('has one server thread for each thread_id, across channels and protocol names', async () => {
    const { ask, server } = await openAgui(() => runOf(textEvent('hi')), { keeps_history: true })
    const source = 'https://peer.test/contexts/1'
    const ownThread = { thread_id: '0b22717b-b192-44b6-a9a7-114ad5fbaac9', thread_source: source }
    const messageOverrides = [
      ownThread,
      { ...ownThread, received_via: 'web' },
      { ...ownThread, thread_id: '53a93a1e-8f47-4a5f-b6a7-0c4e8a1d2f60' },
    ]
    for (const members of messageOverrides) await ask(testMessage('hi', members))
    const [first, otherThreadId, stranger] = server.inputs().map(({ threadId }) => threadId)
    expect(otherThreadId).toBe(first)
    expect(stranger).not.toBe(first)
  })

  test('keeps the thread id of a conversation from an earlier release', async () => {
    const { ask, server } = await openAgui(() => runOf(textEvent('hi')), { keeps_history: true })
    const source = 'https://peer.test/contexts/1'
    await ask(testMessage('hi', { thread_id: source, thread_source: source }))
    expect(server.inputs()[0]?.threadId).toBe('f3b51b75-348e-8322-89c7-b4b5941599c9')
  })
})

describe('an AG-UI agent', () => {
  test('streams the text of assistant messages, separated by a blank line, and no user messages', async () => {
    const { ask } = await openAgui(
      [
        runOf(
          { type: 'TEXT_MESSAGE_START', messageId: 'a1', role: 'assistant' },
          textEvent('Good '),
          textEvent('day.'),
          { type: 'TEXT_MESSAGE_END', messageId: 'a1' },
          { type: 'TEXT_MESSAGE_START', messageId: 'u1', role: 'user' },
          textEvent('not mine', 'u1'),
          { type: 'TEXT_MESSAGE_CHUNK', messageId: 'a2', role: 'assistant', delta: 'And?' },
          { type: 'REASONING_MESSAGE_CONTENT', messageId: 'r', delta: 'hidden' },
        ),
      ],
      { thoughts: 'none' },
    )
    const { answer, chunks } = await ask()
    expect(textOfAnswer(answer)).toBe('Good day.\n\nAnd?')
    expect(chunks.map(textOfAnswer).filter(Boolean)).toHaveLength(3)
  })

  test('gives an empty answer for a blank message, and no answer without a message', async () => {
    expect(await answerTo(textEvent(' \n'))).toMatchObject({ parts: [{ kind: 'text', content: '' }] })
    expect(await answerTo()).toBeUndefined()
  })

  test('skips unknown events, under any name', async () => {
    const types = ['CUSTOM', 'constructor', 'toString', '__proto__'].map(type => ({ type }))
    expect(textOfAnswer(await answerTo(...types, textEvent('Good day.')))).toBe('Good day.')
  })

  test('shows its tool calls beside the answer, and its steps as stages', async () => {
    const { ask } = await openAgui([
      runOf(
        { type: 'STEP_STARTED', stepName: 'look up' },
        { type: 'TOOL_CALL_START', toolCallId: 'c1', toolCallName: 'find' },
        { type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: '{"what":' },
        { type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: '"cake"}' },
        { type: 'TOOL_CALL_END', toolCallId: 'c1' },
        { type: 'TOOL_CALL_RESULT', messageId: 'm', toolCallId: 'c1', content: '{"left":3}' },
        { type: 'TOOL_CALL_RESULT', messageId: 'm', toolCallId: 'never begun', content: 'x' },
        textEvent('Three.'),
      ),
    ])
    const { answer, chunks } = await ask()
    const trace = [{ kind: 'tool_call', id: 'c1', name: 'find', args: { what: 'cake' }, result: { left: 3 } }]
    expect(answer).toMatchObject({ parts: [{ content: 'Three.' }], trace })
    expect(chunks).toContainEqual(expect.objectContaining({ status: 'working', stage: 'look up' }))
  })

  test('receives its changed state in the next run', async () => {
    const { ask, server, kept } = await openAgui([
      runOf(
        { type: 'STATE_SNAPSHOT', snapshot: { cart: ['cake'] } },
        { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/cart/-', value: 'tea' }] },
        textEvent('ok'),
      ),
      runOf(textEvent('again')),
    ])
    await ask()
    expect(kept()).toMatchObject({ state: { cart: ['cake', 'tea'] } })
    await ask()
    expect(server.inputs()[1]?.state).toEqual({ cart: ['cake', 'tea'] })
  })

  test('asks with an interrupt, and the next message answers it', async () => {
    const interrupts = [{ id: 'i1', reason: 'approval', message: 'Really?' }]
    const { ask, server, kept } = await openAgui([
      eventsOf(textEvent('Wait. '), finished({ outcome: { type: 'interrupt', interrupts } })),
      runOf(textEvent('Done.')),
    ])
    const { answer } = await ask('delete it')
    expect(answer?.status).toBe('input_required')
    expect(textOfAnswer(answer)).toContain('Really?')
    expect(textOfAnswer((await ask('yes')).answer)).toBe('Done.')
    const [, second] = server.inputs()
    expect(second?.resume).toEqual([{ interruptId: 'i1', status: 'resolved', payload: 'yes' }])
    expect(second?.messages).toEqual([])
    expect(kept()).not.toHaveProperty('interrupts')
  })

  test('reports the token usage of a run', async () => {
    const usage = [{ model: 'small', inputTokens: 10, outputTokens: 4 }]
    const { ask } = await openAgui([eventsOf(textEvent('x'), finished({ usage }))])
    expect((await ask()).answer).toMatchObject({ usage: [{ model: 'small', input_tokens: 10, output_tokens: 4 }] })
  })

  test('answers with the last message of its snapshot if it streams no text', async () => {
    const messages = [
      { id: '1', role: 'user', content: 'hello' },
      { id: '2', role: 'assistant', content: 'whole' },
    ]
    expect(textOfAnswer(await answerTo({ type: 'MESSAGES_SNAPSHOT', messages }))).toBe('whole')
    expect(textOfAnswer(await answerTo({ type: 'MESSAGES_SNAPSHOT', messages }, textEvent('said')))).toBe('said')
  })

  test('does not delay the turn after its run has finished', async () => {
    const { ask, server } = await openAgui(() => ({ ...runOf(textEvent('over')), hangs: true }))
    expect(textOfAnswer((await ask()).answer)).toBe('over')
    await server.clientLeft
  })
})

describe('an AG-UI agent fails', () => {
  const failing = async (reply: ModelReply) => (await openAgui([reply])).ask()

  test.each<[what: string, reply: ModelReply, message: RegExp]>([
    ['a run that failed', eventsOf({ type: 'RUN_ERROR', message: 'no key', code: 'auth' }), /failed \(auth\): no key/],
    ['a run that was canceled', eventsOf(finished({ outcome: { type: 'cancelled' } })), /canceled the run/],
    ['no event stream', { body: { hello: 'world' } }, /no event stream/],
    ['another status', { status: 404, body: {} }, /answered 404 at http:\/\/127\.0\.0\.1:\d+\/v1\/run; check "url"/],
    ['no JSON', { pieces: ['data: hunter2\n\n'] }, /not valid JSON/],
    ['no event', { pieces: ['data: {"kind":1}\n\n'] }, /Cannot read an AG-UI event: "type" is missing/],
    [
      'a delta that does not fit',
      runOf({ type: 'STATE_DELTA', delta: [{ op: 'remove', path: '/no' }] }),
      /state delta/,
    ],
    ['a delta that is none', runOf({ type: 'STATE_DELTA', delta: 'x' }), /no JSON Patch/],
    [
      'a delta whose copies double the state',
      runOf({
        type: 'STATE_DELTA',
        delta: Array.from({ length: 26 }, (_, index) => ({ op: 'copy', from: '', path: `/${index}` })),
      }),
      /The state of the AG-UI server has more than 2097152 bytes/,
    ],
    [
      'a delta of the prototype',
      runOf({ type: 'STATE_DELTA', delta: [{ op: 'add', path: '/__proto__/polluted', value: 1 }] }),
      /no JSON Patch/,
    ],
    [
      'more text than an answer has',
      runOf(...Array(5).fill(textEvent('x'.repeat(1_000_000)))),
      /more than 4194304 characters/,
    ],
  ])('by %s', async (_what, reply, message) => {
    const failed = failing(reply)
    await expect(failed).rejects.toThrow(message)
    await expect(failed).rejects.not.toBeInstanceOf(Unavailable)
    expect('polluted' in {}).toBe(false)
  })

  test.each<[what: string, reply: ModelReply]>([
    ['503', { status: 503, body: {} }],
    ['a run without an end', eventsOf(textEvent('half'))],
    ['a connection that breaks', { ...eventsOf(textEvent('half')), breaks: true }],
  ])('for a while by %s, and gets the question again', async (_what, reply) => {
    await expect(failing(reply)).rejects.toBeInstanceOf(Unavailable)
  })

  test('and closes the unread refusal', async () => {
    // The silence alone would end the turn only after minutes.
    const { ask, server } = await openAgui([{ status: 418, pieces: ['a'], hangs: true }], { deadline: '5m' })
    await expect(ask()).rejects.toThrow('answered 418')
    await server.clientLeft
  })

  test('and keeps nothing of a failed run', async () => {
    const { ask, kept } = await openAgui([eventsOf({ type: 'STATE_SNAPSHOT', snapshot: { a: 1 } })])
    await expect(ask()).rejects.toThrow()
    expect(kept()).toBeUndefined()
  })
})
