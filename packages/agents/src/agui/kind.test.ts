import type { AgentContext, HistoricalMessage, Json, NormalizedMessage, PartialResponse } from '@postern/core'
import { collectAnswer, Unavailable } from '@postern/core'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { RunInput } from '../../test/agui-server.ts'
import { eventsOf, finished, openAguiServer, runOf, textEvent } from '../../test/agui-server.ts'
import { aliceSender, openTestAgent, testContext, testMessage } from '../../test/gateway.ts'
import { textOfAnswer } from '../../test/model-agent.ts'
import type { ModelReply } from '../../test/model-server.ts'

interface Asked {
  readonly answer: PartialResponse | undefined
  readonly chunks: readonly PartialResponse[]
}

async function openAgui(script: readonly ModelReply[] | ((input: RunInput, index: number) => ModelReply), config = {}) {
  const server = await openAguiServer((input, index) =>
    typeof script === 'function' ? script(input, index) : (script[index] ?? { status: 418 }),
  )
  onTestFinished(server.close)
  const { agent } = await openTestAgent({ use: 'ag-ui', url: server.url, ...config })
  let kept: Json | undefined
  const state = { get: async () => kept, set: (value: Json) => (kept = value) } as unknown as AgentContext['state']
  return {
    server,
    kept: () => kept,
    async ask(message: string | NormalizedMessage = 'hello', more: Partial<AgentContext> = {}): Promise<Asked> {
      const chunks: PartialResponse[] = []
      const heard = typeof message === 'string' ? testMessage(message) : message
      const answer = await agent.handle(heard, testContext({ state, ...more }))
      return { answer: await collectAnswer(answer, chunk => void chunks.push(chunk)), chunks }
    },
  }
}

const answerTo = async (...events: readonly object[]) => (await (await openAgui([runOf(...events)])).ask()).answer

const turn = (role: 'user' | 'assistant', content: string, id: string): HistoricalMessage => ({
  id,
  role,
  sender: { address: role === 'user' ? '@alice@peer.test' : '@subject@agents.test' },
  parts: [{ kind: 'text', mime: 'text/plain', content }],
  timestamp: '2026-01-01T00:00:00Z',
})

describe('a run', () => {
  test('has the conversation, the sender with their proof, and ids that betray nothing', async () => {
    const { ask, server } = await openAgui(() => runOf(textEvent('hi')), {
      api_key: 'token',
      forwarded_props: { mode: 'x' },
    })
    const history = [turn('user', 'one', 'u1'), turn('assistant', 'two', 'a1')]
    const message = testMessage('three', { sender: aliceSender })
    await ask(message, { history: () => ({ turns: history }), flags: ['hidden_text'] })
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
      received_via: 'a2a',
      flags: ['hidden_text'],
    })
    const ids = [first?.threadId, first?.runId, ...(first?.messages ?? []).map(({ id }) => id)]
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(new Set(ids).size).toBe(5)
    expect(second?.messages).toEqual(first?.messages)
  })

  test('has the new message alone where the server keeps the conversation', async () => {
    const { ask, server } = await openAgui(() => runOf(textEvent('hi')), { keeps_history: true })
    await ask('two', { history: () => ({ turns: [turn('user', 'one', 'u1')] }) })
    const [run] = server.inputs()
    expect(run?.messages).toMatchObject([{ content: 'two' }])
    expect(JSON.parse(run?.context[0]?.value ?? '')).toMatchObject({ verified: false, auth_method: 'none' })
  })
})

describe('an AG-UI agent', () => {
  test('streams its words, those of two messages apart, and only its own', async () => {
    const { ask } = await openAgui([
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
    ])
    const { answer, chunks } = await ask()
    expect(textOfAnswer(answer)).toBe('Good day.\n\nAnd?')
    expect(chunks.map(textOfAnswer).filter(Boolean)).toHaveLength(3)
  })

  test('skips events of no type that it knows, whatever their names', async () => {
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

  test('gets its state again in the next run, with its changes', async () => {
    const { ask, server, kept } = await openAgui([
      runOf(
        { type: 'STATE_SNAPSHOT', snapshot: { cart: ['cake'] } },
        { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/cart/-', value: 'tea' }] },
        textEvent('ok'),
      ),
      runOf(textEvent('again')),
    ])
    expect((await ask()).answer).toMatchObject({ chat_state: { cart: ['cake', 'tea'] } })
    expect(kept()).toEqual({ state: { cart: ['cake', 'tea'] } })
    await ask()
    expect(server.inputs()[1]?.state).toEqual({ cart: ['cake', 'tea'] })
  })

  test('asks by an interrupt, and the next message answers it', async () => {
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
    expect(kept()).toEqual({})
  })

  test('tells what a run has cost', async () => {
    const usage = [{ model: 'small', inputTokens: 10, outputTokens: 4 }]
    const { ask } = await openAgui([eventsOf(textEvent('x'), finished({ usage }))])
    expect((await ask()).answer).toMatchObject({ usage: [{ model: 'small', input_tokens: 10, output_tokens: 4 }] })
  })

  test('that streams no text answers with the last message of its snapshot', async () => {
    const messages = [
      { id: '1', role: 'user', content: 'hello' },
      { id: '2', role: 'assistant', content: 'whole' },
    ]
    expect(textOfAnswer(await answerTo({ type: 'MESSAGES_SNAPSHOT', messages }))).toBe('whole')
    expect(textOfAnswer(await answerTo({ type: 'MESSAGES_SNAPSHOT', messages }, textEvent('said')))).toBe('said')
  })

  test('holds up no turn after its run has finished', async () => {
    const { ask, server } = await openAgui(() => ({ ...runOf(textEvent('over')), hangs: true }))
    expect(textOfAnswer((await ask()).answer)).toBe('over')
    await server.left
  })
})

describe('an AG-UI agent fails', () => {
  const failing = async (reply: ModelReply) => (await openAgui([reply])).ask()

  test.each<[what: string, reply: ModelReply, message: RegExp]>([
    ['a run that failed', eventsOf({ type: 'RUN_ERROR', message: 'no key', code: 'auth' }), /failed \(auth\): no key/],
    ['a run that was canceled', eventsOf(finished({ outcome: { type: 'cancelled' } })), /canceled the run/],
    ['no event stream', { body: { hello: 'world' } }, /no event stream/],
    ['another status', { status: 404, body: {} }, /answered 404; check "url"/],
    ['no JSON', { pieces: ['data: hunter2\n\n'] }, /not valid JSON/],
    ['no event', { pieces: ['data: {"kind":1}\n\n'] }, /type is not valid/],
    [
      'a delta that does not fit',
      runOf({ type: 'STATE_DELTA', delta: [{ op: 'remove', path: '/no' }] }),
      /state delta/,
    ],
    ['a delta that is none', runOf({ type: 'STATE_DELTA', delta: 'x' }), /no JSON Patch/],
    [
      'a delta of the prototype',
      runOf({ type: 'STATE_DELTA', delta: [{ op: 'add', path: '/__proto__/polluted', value: 1 }] }),
      /no JSON Patch/,
    ],
    ['more text than an answer has', runOf(textEvent('x'.repeat(200_001))), /more than 200000 characters/],
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
  ])('for a while, and gets the question again, by %s', async (_what, reply) => {
    await expect(failing(reply)).rejects.toBeInstanceOf(Unavailable)
  })

  test('keeps nothing of a run that failed', async () => {
    const { ask, kept } = await openAgui([eventsOf({ type: 'STATE_SNAPSHOT', snapshot: { a: 1 } })])
    await expect(ask()).rejects.toThrow()
    expect(kept()).toBeUndefined()
  })
})
