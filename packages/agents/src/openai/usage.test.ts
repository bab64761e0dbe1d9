import { Unavailable } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { openModelAgent, textOfAnswer } from '../../test/model-agent.ts'
import type { Complete, ModelReply } from '../../test/model-server.ts'
import { replyWith } from '../../test/model-server.ts'

const config = { tools: './tools/shed.ts' }
const cost = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 }
const reportedUsage = { model: 'test-model', input_tokens: 10, output_tokens: 4, total_tokens: 14 }
const usageChunk = { choices: [], usage: cost }
const ending = (finish_reason: string, overrides: object = {}) => ({
  choices: [{ index: 0, delta: {}, finish_reason, ...overrides }],
})
const textChunk = { choices: [{ index: 0, delta: { content: 'Hello.' }, finish_reason: null }], usage: null }
const called = {
  index: 0,
  id: 'c1',
  type: 'function',
  function: { name: 'look', arguments: '{"where":"here"}' },
}
const calling = { choices: [{ index: 0, delta: { tool_calls: [called] }, finish_reason: null }] }

function stream(documents: readonly object[], overrides: Partial<ModelReply> = {}): ModelReply {
  return { pieces: documents.map(document => `data: ${JSON.stringify(document)}\n\n`), ...overrides }
}
const doneLine = 'data: [DONE]\n\n'
const answered = (...documents: readonly object[]): ModelReply => {
  return { pieces: [...(stream([textChunk, ...documents]).pieces ?? []), doneLine] }
}
const optionsOf = ({ body }: { readonly body: { readonly [name: string]: unknown } }) => body.stream_options

describe('the usage of a model’s answer', () => {
  test('is the sum over its tool rounds', async () => {
    const { ask, server } = await openModelAgent(
      [stream([calling, ending('tool_calls'), usageChunk]), answered(ending('stop'), usageChunk)],
      { config },
    )
    const { answer, chunks } = await ask()
    expect(server.requests.map(optionsOf)).toEqual(Array(2).fill({ include_usage: true }))
    expect(textOfAnswer(answer)).toBe('|Hello.')
    expect(answer?.usage).toEqual([{ model: 'test-model', input_tokens: 20, output_tokens: 8, total_tokens: 28 }])
    expect(chunks.filter(({ usage }) => usage)).toEqual(Array(2).fill({ usage: [reportedUsage] }))
  })

  test.each<[string, ModelReply]>([
    ['behind the end (OpenAI, vLLM, Ollama, llama.cpp)', answered(ending('stop'), usageChunk)],
    ['with the end, unasked (Mistral, older llama.cpp)', answered({ ...ending('stop'), usage: cost })],
    ['in the choice (Moonshot)', answered(ending('stop', { usage: cost }))],
    ['in a place of its own (Groq)', answered({ ...ending('stop'), x_groq: { usage: cost } })],
    [
      'all the time, the last being the whole (vLLM with continuous_usage_stats)',
      answered(
        { ...textChunk, usage: { ...cost, completion_tokens: 2, total_tokens: 12 } },
        ending('stop'),
        usageChunk,
      ),
    ],
    ['with a whole answer', { body: { choices: [{ message: { content: 'Hello.' } }], usage: cost } }],
    [
      'behind the end of a stream that then breaks off',
      stream([textChunk, ending('stop'), usageChunk], { breaks: true }),
    ],
  ])('arrives %s', async (_, reply) => {
    const { ask } = await openModelAgent([reply])
    const { answer } = await ask()
    expect(textOfAnswer(answer)).toMatch(/^(Hello\.)+$/)
    expect(answer?.usage).toEqual([reportedUsage])
  })

  test.each<[string, ModelReply]>([
    ['never', answered(ending('stop'))],
    ['as zeros', answered(ending('stop'), { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0 } })],
    ['as nonsense', answered(ending('stop'), { choices: [], usage: 'plenty' })],
    ['in no chat completion', answered(ending('stop'), { object: 'usage', tokens: 14 })],
    ['as no JSON', { pieces: [...(stream([textChunk, ending('stop')]).pieces ?? []), 'data: {\n\n'] }],
    ['as a complaint', answered(ending('stop'), { error: { message: 'no', type: 'server_error' } })],
    ['not any more, since the connection breaks', stream([textChunk, ending('stop')], { breaks: true })],
  ])('may arrive %s without harm to the answer', async (_, reply) => {
    const { ask } = await openModelAgent([reply])
    expect((await ask()).answer).toEqual({ parts: [{ kind: 'text', mime: 'text/markdown', content: 'Hello.' }] })
  })

  test('delays the end of a turn briefly, and interim text not at all', async () => {
    const waits: number[] = []
    const elapse = Promise.withResolvers<void>()
    // This sleep ends when the test says so.
    const sleep = (ms: number, signal?: AbortSignal) => {
      waits.push(ms)
      const aborted = new Promise<void>(resolve => signal?.addEventListener('abort', () => resolve()))
      return ms === 2_000 ? Promise.race([elapse.promise, aborted]) : aborted
    }
    const reply = stream([textChunk, ending('stop')], { hangs: true })
    const { ask, server } = await openModelAgent([reply], { system: { sleep } })
    const firstText = Promise.withResolvers<void>()
    const pendingAnswer = ask('hello', {}, chunk => void (textOfAnswer(chunk) === 'Hello.' && firstText.resolve()))
    await firstText.promise
    elapse.resolve()
    expect(textOfAnswer((await pendingAnswer).answer)).toBe('Hello.')
    expect(waits).toContain(2_000)
    await server.clientLeft
  })

  test('stays on record for the rounds before a failed one', async () => {
    const script = [stream([calling, ending('tool_calls'), usageChunk]), { status: 503, body: {} }]
    const { ask } = await openModelAgent(script, { config })
    const usageChunks: unknown[] = []
    await expect(ask('hello', {}, ({ usage }) => void (usage && usageChunks.push(...usage)))).rejects.toThrow(
      Unavailable,
    )
    expect(usageChunks).toEqual([reportedUsage])
  })

  test('is neither requested nor read if the configuration says so', async () => {
    const { ask, server } = await openModelAgent([answered({ ...ending('stop'), usage: cost })], {
      config: { usage: false },
    })
    expect((await ask()).answer).not.toHaveProperty('usage')
    expect(server.requests.map(optionsOf)).toEqual([undefined])
  })

  test('needs no request for unstreamed answers, nor beside the operator’s options', async () => {
    for (const asked of [
      { stream: false },
      { parameters: { stream_options: { include_usage: true, continuous_usage_stats: true } } },
    ]) {
      const { ask, server } = await openModelAgent([answered(ending('stop'), usageChunk)], { config: asked })
      expect((await ask()).answer?.usage).toEqual([reportedUsage])
      expect(server.requests.map(optionsOf)).toEqual([asked.parameters?.stream_options])
    }
  })
})

describe('a server that refuses to report usage', () => {
  const mistral = {
    type: 'extra_forbidden',
    loc: ['body', 'stream_options', 'include_usage'],
    msg: 'Extra inputs are not permitted',
  }
  const unknown = 'Unrecognized request argument supplied: stream_options'

  const refuse =
    (refusal: ModelReply, reply: ModelReply): Complete =>
    ({ body }) =>
      'stream_options' in body ? refusal : reply

  test.each<[string, ModelReply]>([
    ['Mistral', { status: 422, body: { object: 'error', message: { detail: [mistral] } } }],
    ['older Azure', { status: 400, body: { error: { message: unknown, type: 'invalid_request_error' } } }],
    ['one that says only that it is a bad request', { status: 400, body: 'Bad Request' }],
    ['one that says nothing', { status: 400, body: '' }],
  ])('gets requests without it from then on: %s', async (_, refusal) => {
    const { ask, server } = await openModelAgent(refuse(refusal, answered({ ...ending('stop'), usage: cost })))
    expect((await ask()).answer?.usage).toEqual([reportedUsage])
    expect((await ask()).answer?.usage).toEqual([reportedUsage])
    expect(server.requests.map(optionsOf)).toEqual([{ include_usage: true }, undefined, undefined])
  })

  test('fails if it refuses something else', async () => {
    const complaint = { error: { message: 'too long', code: 'context_length_exceeded' } }
    const { ask, server } = await openModelAgent(() => ({ status: 400, body: complaint }))
    await expect(ask()).rejects.toThrow(/^The model answered 400 at \S+: context_length_exceeded$/)
    await expect(ask()).rejects.toThrow(/^The model answered 400 at \S+: context_length_exceeded$/)
    expect(server.requests.map(optionsOf)).toEqual(
      Array(2)
        .fill([{ include_usage: true }, undefined])
        .flat(),
    )
  })

  test('does not count as a server that has answered before, unless it says so', async () => {
    const complaint = { error: { message: 'too long', code: 'context_length_exceeded' } }
    const script = [answered(ending('stop')), { status: 400, body: complaint }]
    const { ask, server } = await openModelAgent(script)
    await ask()
    await expect(ask()).rejects.toThrow(/^The model answered 400 at \S+: context_length_exceeded$/)
    expect(server.requests).toHaveLength(2)
  })

  test('does not count as a content filter, which gets one request', async () => {
    const { ask, server } = await openModelAgent([
      { status: 400, body: { error: { code: 'content_filter' } } },
      replyWith('hi'),
    ])
    expect((await ask()).answer?.status).toBe('rejected')
    expect(server.requests).toHaveLength(1)
  })

  test('is Unavailable if the request without usage says so', async () => {
    const { ask } = await openModelAgent(refuse({ status: 400, body: '' }, { status: 429, body: '' }))
    await expect(ask()).rejects.toThrow(/^The model answered 429 at \S+$/)
  })
})
