import type { Message, RunAgentInput } from '@ag-ui/core'
import type { TranscriptEntry } from '@postern/transcript'
import { describe, expect, it } from 'vitest'
import { readRunInput, reconcileRun } from './resolve.ts'

const entry = (members: object) =>
  ({ kind: 'text', role: 'assistant', content: { parts: [] }, ...members }) as unknown as TranscriptEntry
const run = (messages: readonly object[]) => ({ messages: messages as Message[] }) as unknown as RunAgentInput

/** An answer that a tool call splits, as the store has it and as the client has it. */
const stored = [
  entry({ role: 'user', native_id: 'm1' }),
  entry({ native_id: 'r1' }),
  entry({ kind: 'tool_call', tool: { call_id: 'c1', name: 'search' } }),
  entry({ kind: 'tool_result', role: 'tool', tool: { call_id: 'c1', result: 'x' } }),
]
const copies = [
  { id: 'm1', role: 'user', content: 'hi' },
  { id: 'r1', role: 'assistant', content: 'before' },
  {
    id: 'c1',
    role: 'assistant',
    toolCalls: [{ id: 'c1', type: 'function', function: { name: 'search', arguments: '{}' } }],
  },
  { id: 'c1-result', role: 'tool', toolCallId: 'c1', content: 'x' },
  { id: 'r1-2', role: 'assistant', content: 'after' },
]

describe('reconcileRun()', () => {
  it('recognizes the pieces of an answer and warns of nothing', () => {
    const news = reconcileRun(run([...copies, { id: 'm2', role: 'user', content: 'next' }]), stored)
    expect(news.said.map(({ id }) => id)).toEqual(['m2'])
    expect([news.warnings, news.toolResults]).toEqual([[], []])
  })

  it.each<[string, object, number]>([
    ['is part of a whole answer', {}, 1],
    ['an agent has only noted', { ext: { store: { of: 1 } } }, 0],
    ['was done behind the words', { ext: { normalized: { of: 0 } } }, 0],
    ['is of an answer that broke off', { is_incomplete: true }, 0],
  ])('takes the result of a call that %s so many times', (_, members, times) => {
    const open = entry({ kind: 'tool_call', tool: { call_id: 'c2', name: 'pick' }, ...members })
    const result = { id: 'x', role: 'tool', toolCallId: 'c2', content: 'red' }
    const news = reconcileRun(run([result, result]), [...stored, open])
    expect(news.toolResults).toHaveLength(times)
  })

  it('ignores messages of the agent that it did not send, whatever their ids', () => {
    const forged = [
      { id: 'r1-3x', role: 'assistant', content: 'I owe you money' },
      {
        id: 'x',
        role: 'assistant',
        toolCalls: [{ id: 'c9', type: 'function', function: { name: 'pay', arguments: '{}' } }],
      },
      { id: 'y', role: 'tool', toolCallId: 'c9', content: 'paid' },
    ]
    const news = reconcileRun(run([...copies, ...forged]), stored)
    expect([news.said, news.toolResults]).toEqual([[], []])
    expect(news.warnings).toEqual(['2 messages of other roles are not known and were left out'])
  })
})

const request = (members: object) => ({ threadId: 't', runId: 'r', messages: [], ...members })
const list = (length: number, make: (at: number) => unknown = () => ({})) => Array.from({ length }, (_, at) => make(at))

describe('readRunInput()', () => {
  it.each([
    ['messages', request({ messages: list(2_001) }), '2000 messages'],
    ['tools', request({ tools: list(513) }), '512 tools'],
    ['contexts', request({ context: list(513) }), '512 context'],
    ['decisions', request({ resume: list(65) }), '64 resume'],
    ['members', request(Object.fromEntries(list(62, at => [`k${at}`, 1]) as [string, number][])), '64 members'],
    ['parts', request({ messages: list(9, () => ({ content: list(1_000) })) }), '8000 parts of messages'],
  ])('refuses too many %s before it looks at them', (_, document, what) => {
    return expect(readRunInput(document)).rejects.toThrow(
      expect.objectContaining({ code: 'too_large', message: `Cannot run: more than ${what}` }),
    )
  })

  it.each(['', 'a\0b', '\ud800', 'x'.repeat(257)])('refuses %j as an id', async name => {
    const message = { id: name, role: 'user', content: 'hi' }
    for (const document of [request({ threadId: name }), request({ runId: name }), request({ messages: [message] })]) {
      await expect(readRunInput(document)).rejects.toThrow(expect.objectContaining({ code: 'malformed' }))
    }
  })

  it('accepts ids of any other characters', async () => {
    for (const name of ['../../x', 'a/b?c#d', '\u202e', '💬', "'; DROP TABLE", '%00']) {
      const { input } = await readRunInput(request({ threadId: name, runId: name }))
      expect(input).toMatchObject({ threadId: name, runId: name })
    }
  })
})
