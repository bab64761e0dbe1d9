import type { Part, PartialResponse } from '@postern/message'
import { plainTextOf } from '@postern/message'
import { describe, expect, test } from 'vitest'
import type { AgentChunk } from '../../ports/agent/agent.ts'
import { collectAnswer } from './collect-answer.ts'

const callStart = { kind: 'tool_call', id: 'c1', name: 'look', args: { q: 'x' } } as const
const endedCall: Part = { ...callStart, result: { found: 1 } }

function markdown(content: string): Part {
  return { kind: 'text', mime: 'text/markdown', content }
}

async function* stream(...chunks: readonly AgentChunk[]): AsyncGenerator<AgentChunk> {
  yield* chunks
}

async function collect(answer: unknown) {
  const chunks: PartialResponse[] = []
  const collected = await collectAnswer(answer as AsyncIterable<AgentChunk>, chunk => chunks.push(chunk))
  return { collected, seen: chunks }
}

describe('collectAnswer()', () => {
  test('treats undefined as silence', async () => {
    expect(await collect(undefined)).toEqual({ collected: undefined, seen: [] })
  })

  test('treats a string as one Markdown text', async () => {
    expect(await collect('hi')).toEqual({ collected: { parts: [markdown('hi')] }, seen: [] })
  })

  test('returns a response without the members that only the gateway decides', async () => {
    const answer = { id: 'mine', sender: '@mallory@peer.test', parts: [markdown('hi')], status: 'input_required' }
    const { collected } = await collect(answer)
    expect(collected).toEqual({ parts: [markdown('hi')], status: 'input_required' })
  })

  test('joins streamed text, and passes every chunk on in order', async () => {
    const { collected, seen } = await collect(stream('one, ', 'two'))
    expect(collected).toEqual({ parts: [markdown('one, two')] })
    expect(seen).toEqual([{ parts: [markdown('one, ')] }, { parts: [markdown('two')] }])
  })

  test('separates the texts of one chunk, and appends the first to the text before', async () => {
    const two = { parts: [markdown('daily.'), markdown('Closed on Monday.')] }
    const { collected } = await collect(stream('Open ', two, ' Sorry.'))
    expect(collected?.parts).toEqual([markdown('Open daily.'), markdown('Closed on Monday. Sorry.')])
  })

  test('appends text within its own section', async () => {
    const inSection = (id: string, content: string) => ({ ...markdown(content), section: { id } })
    const pieces = [inSection('a', 'Tea '), inSection('b', 'Bus '), inSection('a', 'now'), markdown('So.')]
    const { collected } = await collect(stream(...pieces))
    expect(collected?.parts).toEqual([inSection('a', 'Tea now'), inSection('b', 'Bus '), markdown('So.')])
  })

  test('joins no texts of different kinds', async () => {
    const plain: Part = { kind: 'text', mime: 'text/plain', content: 'b' }
    expect((await collect(stream('a', plain, 'c'))).collected?.parts).toEqual([markdown('a'), plain, markdown('c')])
  })

  test('puts the end of a tool call at the position of its beginning (MN-3, MN-4.2)', async () => {
    const { collected, seen } = await collect(stream(callStart, 'found it', endedCall))
    expect(collected?.parts).toEqual([endedCall, markdown('found it')])
    expect(seen.map(({ parts }) => parts?.[0])).toEqual([callStart, markdown('found it'), endedCall])
  })

  test('separates tool calls with different ids', async () => {
    const other: Part = { ...callStart, id: 'c2' }
    expect((await collect(stream(callStart, other, endedCall))).collected?.parts).toEqual([endedCall, other])
  })

  test('takes each member other than the parts from the last chunk that has it', async () => {
    const { collected } = await collect(
      stream({ status: 'working', subject: 'first' }, 'text', { status: 'completed', mentions: ['@bob@peer.test'] }),
    )
    expect(collected).toEqual({
      status: 'completed',
      subject: 'first',
      mentions: ['@bob@peer.test'],
      parts: [markdown('text')],
    })
  })

  test('omits interim text, unless it is the last piece', async () => {
    const interimText: AgentChunk = { status: 'working', parts: [markdown('Looking it up.')] }
    const answerWithMoreText = await collect(stream('It ', interimText, 'rains.'))
    expect(answerWithMoreText.collected).toEqual({ parts: [markdown('It rains.')] })
    const { collected } = await collect(stream('It ', interimText))
    expect(collected).toEqual({ status: 'working', parts: [markdown('It Looking it up.')] })
  })

  test('drops the status `working` of an earlier piece', async () => {
    const { collected } = await collect(stream({ status: 'working' }, 'done'))
    expect(collected).toEqual({ parts: [markdown('done')] })
  })

  test('collects actions', async () => {
    const like = { act: 'like' } as const
    const { collected } = await collect(stream({ acts: [like] }, { acts: [{ act: 'boost' }] }))
    expect(collected?.acts).toEqual([like, { act: 'boost' }])
  })

  test('joins the halves of a character across two chunks, and shows no half', async () => {
    const { collected, seen } = await collect(stream('ok \ud83d', '\ude00 done'))
    expect(seen).toEqual([{ parts: [markdown('ok ')] }, { parts: [markdown('\u{1f600} done')] }])
    expect(collected).toEqual({ parts: [markdown('ok \u{1f600} done')] })
  })

  test('joins the halves across chunks without text and interim text', async () => {
    const interimText: AgentChunk = { status: 'working', parts: [markdown('Wait \ud83d')] }
    const { collected, seen } = await collect(stream('\ud83d', { subject: 'x' }, interimText, '\ude00'))
    expect(collected).toEqual({ subject: 'x', parts: [markdown('\u{1f600}')] })
    expect(seen.map(({ parts }) => parts)).toEqual([[], undefined, [markdown('Wait \ufffd')], [markdown('\u{1f600}')]])
  })

  test.each<[string, readonly AgentChunk[], readonly Part[]]>([
    ['at the end', ['a', 'b\ud83d'], [markdown('ab\ufffd')]],
    ['before a low half that follows no high one', ['a\ude00', '\ude00b'], [markdown('a\ufffd\ufffdb')]],
    ['before a call', ['a\ud83d', callStart, 'b'], [markdown('a\ufffd'), callStart, markdown('b')]],
    [
      'before text of another kind',
      ['a\ud83d', { kind: 'text', mime: 'text/plain', content: '\ude00b' }],
      [markdown('a\ufffd'), { kind: 'text', mime: 'text/plain', content: '\ufffdb' }],
    ],
    [
      'before a question, which stays apart',
      ['a\ud83d', { status: 'input_required', parts: [markdown('\ude00b')] }],
      [markdown('a\ufffd'), markdown('\ufffdb')],
    ],
  ])('replaces an incomplete half of a character, %s', async (_where, chunks, parts) => {
    const { collected, seen } = await collect(stream(...chunks))
    expect(collected?.parts).toEqual(parts)
    expect(
      seen.flatMap(piece => piece.parts ?? []).every(part => JSON.stringify(part).includes('\\ud') === false),
    ).toBe(true)
  })

  test('makes a complete response well-formed', async () => {
    const answer = {
      subject: '\ude00',
      parts: [
        markdown('ok \ud83d done'),
        { kind: 'file', name: 'a\ud83d.txt', description: '\ude00', bytes_ref: { kind: 'inline', data_base64: '' } },
        { ...callStart, args: { q: ['\ud83d'] } },
      ],
      acts: [{ act: 'post', parts: [markdown('\ud83d')] }],
      notes: [{ type: 'thought', content: '\ud83d' }],
      chat_state: { 'a\ud83d': '\ude00' },
    }
    const { collected } = await collect(answer)
    expect(JSON.stringify(collected)).not.toMatch(/\\u[dD][89a-f]/i)
    expect(collected?.parts?.[0]).toEqual(markdown('ok \ufffd done'))
  })

  test('treats an empty stream as silence', async () => {
    expect((await collect(stream())).collected).toBeUndefined()
  })

  test.each([
    ['a number', 7],
    ['null', null],
    ['a list', [markdown('hi')]],
    ['a malformed part', { kind: 'text' }],
    ['a response with a malformed part', { parts: [{ kind: 'file' }] }],
    ['a response with an unknown status', { status: 'done' }],
  ])('throws on %s, as a response or in a stream', async (_what, wrong) => {
    await expect(collect(wrong)).rejects.toThrow(Error)
    await expect(collect(stream('fine', wrong as AgentChunk))).rejects.toThrow(Error)
  })

  test('ends the iterator of the agent if `onChunk` throws', async () => {
    let isClosed = false
    async function* endless(): AsyncGenerator<string> {
      try {
        for (;;) yield 'more'
      } finally {
        isClosed = true
      }
    }
    const fail = () => {
      throw new Error('nobody listens')
    }
    await expect(collectAnswer(endless(), fail)).rejects.toThrow('nobody listens')
    expect(isClosed).toBe(true)
  })

  test('rethrows the agent’s error', async () => {
    async function* failing(): AsyncGenerator<string> {
      yield 'one'
      throw new RangeError('broke')
    }
    await expect(collect(failing())).rejects.toThrow(RangeError)
  })
})

test('collectAnswer() takes linear time for many texts after many calls', async () => {
  async function* speak(): AsyncGenerator<AgentChunk> {
    for (let call = 0; call < 600; call += 1)
      yield { trace: [{ kind: 'tool_call', id: `c${call}`, name: 'look', args: {} }] }
    yield { trace: [{ kind: 'tool_call', id: 'c0', name: 'look', args: {}, result: 'found' }] }
    for (let word = 0; word < 40_000; word += 1) yield 'word '
  }
  const { trace = [], parts = [] } = (await collectAnswer(speak(), () => {})) ?? {}
  expect([trace.length, trace[0]?.result, plainTextOf(parts).length]).toEqual([600, 'found', 200_000])
})
