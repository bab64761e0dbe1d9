import { describe, expect, test } from 'vitest'
import { message } from '../../test/messages.ts'
import type { Part } from '../message/part.ts'
import type { PartialResponse } from '../message/response.ts'
import { normalizedResponseSchema, plainTextOf } from '../message/response.ts'
import type { AgentChunk } from '../ports/agent/agent.ts'
import { collectAnswer, completeResponse, failedAnswer } from './answer.ts'

const begun = { kind: 'tool_call', id: 'c1', name: 'look', args: { q: 'x' } } as const
const ended: Part = { ...begun, result: { found: 1 } }

function markdown(content: string): Part {
  return { kind: 'text', mime: 'text/markdown', content }
}

async function* stream(...chunks: readonly AgentChunk[]): AsyncGenerator<AgentChunk> {
  yield* chunks
}

async function collect(answer: unknown) {
  const seen: PartialResponse[] = []
  const collected = await collectAnswer(answer as AsyncIterable<AgentChunk>, chunk => seen.push(chunk))
  return { collected, seen }
}

describe('collectAnswer()', () => {
  test('takes undefined for silence', async () => {
    expect(await collect(undefined)).toEqual({ collected: undefined, seen: [] })
  })

  test('takes a string for one markdown text', async () => {
    expect(await collect('hi')).toEqual({ collected: { parts: [markdown('hi')] }, seen: [] })
  })

  test('takes a response without what only the gateway decides', async () => {
    const answer = { id: 'mine', sender: '@mallory@peer.test', parts: [markdown('hi')], status: 'input_required' }
    const { collected } = await collect(answer)
    expect(collected).toEqual({ parts: [markdown('hi')], status: 'input_required' })
  })

  test('joins streamed text, and hands every piece on in its order', async () => {
    const { collected, seen } = await collect(stream('one, ', 'two'))
    expect(collected).toEqual({ parts: [markdown('one, two')] })
    expect(seen).toEqual([{ parts: [markdown('one, ')] }, { parts: [markdown('two')] }])
  })

  test('joins no texts of different kinds', async () => {
    const plain: Part = { kind: 'text', mime: 'text/plain', content: 'b' }
    expect((await collect(stream('a', plain, 'c'))).collected?.parts).toEqual([markdown('a'), plain, markdown('c')])
  })

  test('puts the end of a tool call at the position of its beginning (MN-3, MN-4.2)', async () => {
    const { collected, seen } = await collect(stream(begun, 'found it', ended))
    expect(collected?.parts).toEqual([ended, markdown('found it')])
    expect(seen.map(({ parts }) => parts?.[0])).toEqual([begun, markdown('found it'), ended])
  })

  test('keeps tool calls of different ids apart', async () => {
    const other: Part = { ...begun, id: 'c2' }
    expect((await collect(stream(begun, other, ended))).collected?.parts).toEqual([ended, other])
  })

  test('takes each member but the parts from the last piece that has it', async () => {
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

  test('leaves out interim words, unless nothing follows them', async () => {
    const meanwhile: AgentChunk = { status: 'working', parts: [markdown('Looking it up.')] }
    const followed = await collect(stream('It ', meanwhile, 'rains.'))
    expect(followed.collected).toEqual({ parts: [markdown('It rains.')] })
    const { collected } = await collect(stream('It ', meanwhile))
    expect(collected).toEqual({ status: 'working', parts: [markdown('It Looking it up.')] })
  })

  test('does not end with the status of work that went on afterwards', async () => {
    const { collected } = await collect(stream({ status: 'working' }, 'done'))
    expect(collected).toEqual({ parts: [markdown('done')] })
  })

  test('gathers acts', async () => {
    const like = { act: 'like' } as const
    const { collected } = await collect(stream({ acts: [like] }, { acts: [{ act: 'boost' }] }))
    expect(collected?.acts).toEqual([like, { act: 'boost' }])
  })

  test('takes a stream of nothing for silence', async () => {
    expect((await collect(stream())).collected).toBeUndefined()
  })

  test.each([
    ['a number', 7],
    ['null', null],
    ['a list', [markdown('hi')]],
    ['a malformed part', { kind: 'text' }],
    ['a response with a malformed part', { parts: [{ kind: 'file' }] }],
    ['a response with an unknown status', { status: 'done' }],
  ])('throws on %s, handed over whole or streamed', async (_what, wrong) => {
    await expect(collect(wrong)).rejects.toThrow(Error)
    await expect(collect(stream('fine', wrong as AgentChunk))).rejects.toThrow(Error)
  })

  test('ends the iterator when nobody listens any more', async () => {
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

  test('passes on what the agent throws', async () => {
    async function* failing(): AsyncGenerator<string> {
      yield 'one'
      throw new RangeError('broke')
    }
    await expect(collect(failing())).rejects.toThrow(RangeError)
  })
})

test('collectAnswer() reads many words behind many calls in linear time', async () => {
  async function* speak(): AsyncGenerator<AgentChunk> {
    for (let call = 0; call < 600; call += 1)
      yield { trace: [{ kind: 'tool_call', id: `c${call}`, name: 'look', args: {} }] }
    yield { trace: [{ kind: 'tool_call', id: 'c0', name: 'look', args: {}, result: 'found' }] }
    for (let word = 0; word < 40_000; word += 1) yield 'word '
  }
  const { trace = [], parts = [] } = (await collectAnswer(speak(), () => {})) ?? {}
  expect([trace.length, trace[0]?.result, plainTextOf(parts).length]).toEqual([600, 'found', 200_000])
})

describe('completeResponse()', () => {
  const turn = { content: message() }
  const made = { id: '01', createdAt: '2026-01-01T00:00:01.000Z' }

  test('adds what the gateway knows', () => {
    const response = completeResponse({ parts: [markdown('hi')] }, turn, made)
    expect(normalizedResponseSchema.parse(response)).toEqual({
      id: '01',
      thread_id: 'https://peer.test/contexts/1',
      in_reply_to: 'https://peer.test/activities/1',
      sender: '@echo@agents.test',
      parts: [markdown('hi')],
      status: 'completed',
      created_at: '2026-01-01T00:00:01.000Z',
    })
  })

  test('keeps what the agent decided', () => {
    const said: PartialResponse = { status: 'rejected', subject: 'No', visibility: 'direct', mentions: ['@b@c.test'] }
    expect(completeResponse(said, turn, made)).toMatchObject({ ...said, parts: [] })
  })

  test('throws when a completed answer says nothing', () => {
    expect(() => completeResponse({}, turn, made)).toThrow('a completed response needs at least one part')
  })
})

test('failedAnswer() tells the peer nothing but where to ask', () => {
  expect(failedAnswer('c0ffee')).toEqual({
    status: 'failed',
    parts: [{ kind: 'text', mime: 'text/plain', content: 'Sorry, this could not be answered. Reference: c0ffee' }],
  })
})
