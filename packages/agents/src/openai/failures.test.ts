import { Unavailable } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { openModelAgent, textOfAnswer } from '../../test/model-agent.ts'
import type { ModelReply } from '../../test/model-server.ts'
import { replyWith, streamOf } from '../../test/model-server.ts'

const secret = 'correct-horse-battery-staple'

async function findFailure(reply: ModelReply, config: object = {}): Promise<unknown> {
  const { ask } = await openModelAgent(() => reply, { config: { ...config } })
  return ask().then(
    () => 'no failure',
    (reason: unknown) => reason,
  )
}

describe('a model is temporarily Unavailable', () => {
  test.each([408, 425, 429, 500, 502, 503, 504, 529])('when it answers %i, with its Retry-After', async status => {
    const error = await findFailure({ status, headers: { 'retry-after': '17' }, body: { error: { message: secret } } })
    expect(error).toBeInstanceOf(Unavailable)
    expect(error).toMatchObject({
      message: expect.stringMatching(
        `^The model answered ${status} at http://127\\.0\\.0\\.1:\\d+/\\S*/chat/completions$`,
      ),
      retryAfter: 17,
    })
  })

  test('when no server listens', async () => {
    const { ask, server } = await openModelAgent([])
    await server.close()
    await expect(ask()).rejects.toBeInstanceOf(Unavailable)
  })

  test.each([
    ['before its first word', []],
    ['after one', ['data: {"choices":[{"delta":{"content":"Hel"}}]}\n\n']],
    ['between comments', [': ping\n\n']],
  ])('when it stays silent %s', async (_, pieces) => {
    // The clock advances two seconds at each reading, so that the test does not wait for the timeout.
    let time = 0
    const now = () => {
      time += 2_000
      return time
    }
    const { ask, server } = await openModelAgent([{ pieces, hangs: true }], {
      config: { deadline: '20s' },
      system: { now, sleep: async () => new Promise(resolve => setTimeout(resolve, 50)) },
    })
    await expect(ask()).rejects.toThrow(new Unavailable('The model went silent'))
    await server.clientLeft
  })

  test('when the connection breaks, or its stream reports an error', async () => {
    const pieces = ['data: {"choices":[{"delta":{"content":"Hel"}}]}\n\n']
    expect(await findFailure({ pieces, breaks: true })).toBeInstanceOf(Unavailable)
    expect(await findFailure(streamOf([{ content: 'Hel' }], 'abort'))).toBeInstanceOf(Unavailable)
    expect(await findFailure({ pieces: ['data: {"error":{"type":"overloaded_error"}}\n\n'] })).toBeInstanceOf(
      Unavailable,
    )
  })
})

describe('a model fails permanently', () => {
  test.each([
    [400, { error: { message: secret, code: 'context_length_exceeded' } }, ': context_length_exceeded'],
    [401, { error: { message: secret, code: 'invalid_api_key' } }, ': invalid_api_key; check "api_key"'],
    [403, 'no', '; check "api_key"'],
    [404, { error: 'model "test-model" not found' }, ': it names no reason; check "base_url" and "model"'],
    [422, { detail: [] }, ''],
    [307, '', ', a redirect to http://127.0.0.1:1/ that is not followed'],
    [418, { error: { code: `${secret} ${secret}` } }, ': it names no reason'],
  ])('when it answers %i, without its own message in the error', async (status, body, problem) => {
    const error = await findFailure({ status, body, headers: { location: 'http://127.0.0.1:1/' } })
    expect(error).not.toBeInstanceOf(Unavailable)
    const { message } = error as Error
    expect(message.replace(/ at http:\/\/127\.0\.0\.1:\d+\/\S*\/chat\/completions/, '')).toBe(
      `The model answered ${status}${problem}`,
    )
  })

  test('and the cause for the log contains the message of the model without the key', async () => {
    const message = `Incorrect API key provided: sk-proj-abcdefgh12345678.\nSee the console.`
    const error = await findFailure({ status: 401, body: { error: { message } } })
    expect(error).toMatchObject({ cause: { message: 'Incorrect API key provided: (key). See the console.' } })
  })

  test.each([
    ['its stream is not JSON', { pieces: ['data: {"choices":[\n\n'] }, 'it is not valid JSON'],
    ['its stream is not a chat completion', { pieces: ['data: {"text":"hi"}\n\n'] }, 'it is not a chat completion'],
    ['its whole answer is not JSON', { body: `{"${secret}` }, 'it is not valid JSON'],
    ['its whole answer is not a chat completion', { body: { models: [] } }, 'it is not a chat completion'],
  ])('when %s', async (_, reply, problem) => {
    expect(await findFailure(reply)).toEqual(new Error(`Cannot read the answer of the model: ${problem}`))
  })

  test.each([
    ['a page', { body: '<html>', headers: { 'content-type': 'text/html' } }, /no chat completion; check "base_url"/],
    ['nothing', replyWith('  \n '), /answered with nothing/],
    ['only thoughts', replyWith('<think>well</think>'), /answered with nothing/],
    ['thoughts until it was cut off', streamOf([{ reasoning_content: 'w' }], 'length'), /before it said anything/],
    [
      'more text than the limit',
      streamOf(Array(5).fill({ content: 'x'.repeat(1_000_000) })),
      /more than 4194304 characters/,
    ],
    ['an endless event', { pieces: Array(40).fill('x'.repeat(64 * 1024)) }, /an event is too large/],
    ['endless heartbeats', { pieces: Array(300).fill(`: ${'x'.repeat(64 * 1024)}\n`) }, /too large/],
  ])('when it answers with %s', async (_, reply: ModelReply, problem) => {
    const error = await findFailure(reply)
    expect(error).not.toBeInstanceOf(Unavailable)
    expect(error).toMatchObject({ message: expect.stringMatching(problem) })
  })

  test('when it exceeds the turn’s deadline, with the turn’s error', async () => {
    const controller = new AbortController()
    const { ask, server } = await openModelAgent(() => {
      setTimeout(() => controller.abort(new Error('the agent took too long')), 30)
      return { pieces: ['data: {"choices":[{"delta":{"content":"on and "}}]}\n\n'], hangs: true }
    })
    await expect(ask('hello', { signal: controller.signal })).rejects.toThrow(new Error('the agent took too long'))
    await server.clientLeft
  })
})

describe('a model’s refusal', () => {
  test('may be an error status', async () => {
    const { ask } = await openModelAgent([
      { status: 400, body: { error: { code: 'content_filter', message: secret } } },
    ])
    const { answer } = await ask()
    expect(answer).toEqual({
      status: 'rejected',
      parts: [{ kind: 'policy', policy: { kind: 'forbidden', message: 'This will not be answered.' } }],
    })
  })
})

describe('a model that answers without a stream', () => {
  const answerWith = (message: object, finish_reason: string | null = 'stop'): ModelReply => ({
    body: { object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage: {} },
  })

  test.each(['eos', 'constructor', '__proto__'])('succeeds with the unknown finish reason %s', async reason => {
    const { ask } = await openModelAgent([answerWith({ role: 'assistant', content: 'Hello.' }, reason)])
    expect(textOfAnswer((await ask()).answer)).toBe('Hello.')
  })

  test('works with and without a request for a stream', async () => {
    for (const stream of [true, false]) {
      const { ask, server } = await openModelAgent([answerWith({ role: 'assistant', content: 'Hello.' }, null)], {
        config: { stream },
      })
      expect(textOfAnswer((await ask()).answer)).toBe('Hello.')
      expect(server.requests[0]?.body.stream).toBe(stream)
    }
  })

  test('may send content parts, of which the agent uses only text', async () => {
    const content = [
      { type: 'thinking', thinking: [] },
      { type: 'text', text: 'Hello.' },
    ]
    const { ask } = await openModelAgent([answerWith({ role: 'assistant', content })])
    expect(textOfAnswer((await ask()).answer)).toBe('Hello.')
  })

  test('may call tools', async () => {
    const tool_calls = [{ id: 'c1', type: 'function', function: { name: 'look', arguments: { where: 'here' } } }]
    const { ask } = await openModelAgent(
      [answerWith({ content: null, tool_calls }, 'tool_calls'), answerWith({ content: 'No.' })],
      {
        config: { tools: './tools/shed.ts' },
      },
    )
    expect((await ask()).answer?.parts).toMatchObject([{ result: { found: 'nothing in here' } }, { content: 'No.' }])
  })
})
