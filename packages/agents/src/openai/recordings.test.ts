import { Unavailable } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { openModelAgent, textOfAnswer } from '../../test/model-agent.ts'
import type { ModelReply } from '../../test/model-server.ts'
import { readRecording, replyWith } from '../../test/model-server.ts'

const cuts: readonly (readonly [string, (bytes: Buffer) => readonly Buffer[]])[] = [
  ['in one piece', bytes => [bytes]],
  ['in pieces of 7 octets', bytes => cut(bytes, 7)],
]

function cut(bytes: Buffer, length: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / length) }, (_, index) =>
    bytes.subarray(index * length, (index + 1) * length),
  )
}

describe.each(cuts)('a recorded stream (%s)', (_, toPieces) => {
  const play = (name: string): ModelReply => ({ pieces: toPieces(readRecording(name)) })

  const usageChunk = { usage: [{ model: 'test-model', input_tokens: 57, output_tokens: 9, total_tokens: 66 }] }

  test.each([
    ['openai', 'Grüße, Alice! 👋', usageChunk],
    ['openai-length', 'It begins like this and […]', {}],
    ['ollama', 'Hello from here.', {}],
    ['ollama-thinking', 'Hello, Alice.', {}],
    ['vllm', 'Hello, Alice.', usageChunk],
    ['llama-cpp', 'Hello Alice', {}],
    ['openrouter', 'Hello, Alice.', usageChunk],
    ['think-tags', 'Hello, Alice.', {}],
  ])('of %s gives its text', async (name, text, usage) => {
    const { ask } = await openModelAgent([play(name)])
    const { answer } = await ask()
    expect(answer).toEqual({ parts: [{ kind: 'text', mime: 'text/markdown', content: text }], ...usage })
  })

  test.each(['openai-tool-calls', 'ollama-tool-calls', 'ollama-no-index'])(
    'with two calls gives both: %s',
    async name => {
      const { ask, server } = await openModelAgent([play(name), replyWith('Nothing anywhere.')], {
        config: { tools: './tools/shed.ts' },
      })
      const { answer } = await ask()
      expect(answer?.parts).toMatchObject([
        { kind: 'tool_call', name: 'look', args: { where: 'the shed' }, result: { found: 'nothing in the shed' } },
        { kind: 'tool_call', name: 'look', args: { where: 'the attic' }, result: { found: 'nothing in the attic' } },
        { kind: 'text', content: 'Nothing anywhere.' },
      ])
      const [called, ...results] = server.requests[1]?.body.messages.slice(-3) ?? []
      expect(called?.tool_calls?.map(({ id }) => id)).toEqual(results.map(({ tool_call_id }) => tool_call_id))
    },
  )

  test.each([
    ['openai-refusal', 'I’m sorry, I can’t help with that.', ''],
    ['azure-content-filter', 'This will not be answered.', 'First'],
  ])('with a refusal is a refusal: %s', async (name, message, text) => {
    const { ask } = await openModelAgent([play(name)])
    const { answer } = await ask()
    expect(answer?.status).toBe('rejected')
    expect(answer?.parts?.at(-1)).toEqual({ kind: 'policy', policy: { kind: 'forbidden', message } })
    expect(textOfAnswer(answer).replace('|', '')).toBe(text)
  })

  test.each([
    ['vllm-error', 'The model broke off: 500, InternalServerError'],
    ['llama-cpp-error', 'The model broke off: 500, server_error'],
  ])('with a temporary error is Unavailable: %s', async (name, message) => {
    const { ask } = await openModelAgent([play(name)])
    await expect(ask()).rejects.toThrow(new Unavailable(message))
  })

  test('with a permanent error fails: vllm-bare-error', async () => {
    const { ask } = await openModelAgent([play('vllm-bare-error')])
    const error = await ask().catch((reason: unknown) => reason)
    expect(error).not.toBeInstanceOf(Unavailable)
    expect(error).toMatchObject({ message: 'The model broke off: 400, BadRequestError' })
  })
})

test('the agent passes on text as it arrives', async () => {
  const { ask } = await openModelAgent([{ pieces: [readRecording('openai')] }], { config: { thoughts: 'none' } })
  const { chunks } = await ask()
  expect(chunks.map(textOfAnswer)).toEqual(['Grüße', ', Alice', '! 👋', ''])
  expect(chunks.at(-1)).toEqual({ usage: [expect.objectContaining({ total_tokens: 66 })] })
})

test('a recorded stream that stops before its end is Unavailable, and never an answer', async () => {
  const bytes = readRecording('openai')
  const end = bytes.indexOf('"finish_reason":"stop"')
  for (const at of [0, 40, Math.floor(end / 2), end, bytes.indexOf('\n', end)]) {
    const { ask } = await openModelAgent([{ pieces: [bytes.subarray(0, at)] }])
    await expect(ask(), `cut at ${at}`).rejects.toBeInstanceOf(Unavailable)
  }
})
