import { describe, expect, it } from 'vitest'
import {
  codecs,
  createMemoryTranscript,
  type EntryBody,
  type FormatName,
  numberEntries,
  type ReadContext,
  storeCodec,
} from '../src/index.ts'

// Tests how the transcript resolves contradictions between the dialects. Other cases are in the tests of the dialects.

let made = 0
const newId = () => `x${++made}`
const context: ReadContext = { thread_id: 't', at: '2026-03-13T10:00:00.000Z', newId }
const read = (format: FormatName, ...messages: readonly object[]): readonly EntryBody[] =>
  codecs[format].read(messages, context)
const plain = (value: unknown) => JSON.parse(JSON.stringify(value))

describe('ids of calls (TR-03)', () => {
  it('come from the reader if absent, and pair observations by their order within agent and turn', () => {
    const action = (tool: string, agent_key: string, turn_id = '1') => ({
      type: 'action',
      tool,
      args: {},
      agent_key,
      turn_id,
    })
    const seen = (agent_key: string, turn_id = '1') => ({ type: 'observation', content: 'x', agent_key, turn_id })
    const entries = read(
      'store',
      action('first', 'a'),
      action('second', 'a'),
      action('other', 'b'),
      action('later', 'a', '2'),
      seen('a'),
      seen('b'),
      seen('a', '2'),
      seen('a'),
    )
    const ids = entries.map(({ tool }) => tool?.call_id)
    expect(new Set(ids.slice(0, 4)).size).toBe(4)
    expect(ids.slice(4)).toEqual([ids[0], ids[2], ids[3], ids[1]])
  })
})

describe('the end of a run (TR-05)', () => {
  const final = { schema: 'agents-api.message', version: 1, type: 'final_result', role: 'assistant', payload: {} }

  it('is no second message if it only repeats the last answer', () => {
    const said = { role: 'assistant', content: 'Done.' }
    const shown = (content: string) =>
      numberEntries(read('envelope', said, { ...final, content })).map(({ chat_seq }) => chat_seq)
    expect(shown('Done.')).toEqual([1, undefined])
    expect(shown('All is done.')).toEqual([1, 2])
  })
})

describe('errors (TR-06)', () => {
  it('of a message, a trace, a rescue and a tool are four kinds with one structure', () => {
    const kinds = [
      ...read('envelope', { content: 'boom', metadata: { error: true } }),
      ...read('store', { type: 'error', content: 'boom', error_type: 'E' }),
      ...read('swarm', { role: 'resque', agentName: 'a', content: 'boom', mode: 'tool' }),
      ...read('agui', { id: 'm', role: 'tool', toolCallId: 'c', content: '', error: 'boom' }),
    ].map(({ kind, error, tool }) => [kind, error ?? tool?.error])
    expect(kinds).toEqual([
      ['error', { message: 'boom' }],
      ['error', { message: 'boom', type: 'E' }],
      ['rescue', { message: 'boom' }],
      ['tool_result', { message: 'boom' }],
    ])
  })
})

describe('times (TR-09)', () => {
  it.each<[string, FormatName, object, string, unknown]>([
    ['seconds with a fraction', 'store', { timestamp: 1234567890.5 }, '2009-02-13T23:31:30.500Z', 1234567890.5],
    ['text', 'store', { timestamp: '2026-03-13T10:00:01Z' }, '2026-03-13T10:00:01.000Z', '2026-03-13T10:00:01Z'],
    [
      'text of another zone',
      'store',
      { timestamp: '2026-03-13T12:00:01+02:00' },
      '2026-03-13T10:00:01.000Z',
      '2026-03-13T12:00:01+02:00',
    ],
    ['none', 'store', {}, context.at, undefined],
    ['the year 292277026596', 'store', { timestamp: 9e18 }, context.at, 9e18],
  ])('as %s are ISO UTC, and keep their written form', (_, format, time, at, native_at) => {
    const message = { type: 'user_message', content: 'x', ...time }
    const [entry] = read(format, message)
    expect([entry?.at, entry?.native_at]).toEqual([at, native_at])
    expect(plain(codecs[format].write(entry ? [entry] : []))).toEqual([message])
  })
})

describe('names of threads (TR-11)', () => {
  it('belong to an owner, so that one name is separate threads for two people', async () => {
    const transcript = createMemoryTranscript({ now: () => 0, randomBytes: size => new Uint8Array(size).fill(++made) })
    const alias = { transport: 'web', key: 'thread-1' }
    const [ann, bob] = [await transcript.openThread('ann', alias), await transcript.openThread('bob', alias)]
    expect(ann.thread_id).not.toBe(bob.thread_id)
    expect(await transcript.openThread('ann', alias)).toEqual(ann)
    expect(await transcript.findThread('bob', { transport: 'web', key: 'thread-2' })).toBeUndefined()
  })
})

describe('groups of work (TR-12, TR-13)', () => {
  it('keep run, turn number and turn name as three members, while a stage’s name is no id', () => {
    const [chat] = read('agui', {
      id: 'm1',
      role: 'assistant',
      content: 'x',
      metadata: { run_id: 'run_1', stage: 'intent', message_id: 'intent-run_1' },
    })
    expect(chat).toMatchObject({ run_id: 'run_1', stage: 'intent', native_id: 'm1' })
    const [row] = read('envelope', { metadata: { type: 'tool_call', tool_name: 't', parameters: {}, turn: 3 } })
    expect(row).toMatchObject({ turn_no: 3 })
    const [task] = read('store', { type: 'task', content: 'x', turn_id: 'turn_1', phase_id: 0 })
    expect(task).toMatchObject({ turn_id: 'turn_1', phase_id: 0 })
    for (const entry of [chat, row, task]) {
      const groups = [entry?.run_id, entry?.turn_no, entry?.turn_id]
      expect(groups.filter(group => group !== undefined)).toHaveLength(1)
    }
  })
})

describe('spelling (TR-17, TR-31)', () => {
  it('keeps members within metadata and names of a format through every other format', () => {
    const message = {
      id: 'm',
      role: 'user',
      content: 'x',
      metadata: { latencyMs: 1, latency_ms: 2, 'Weird-Key': { a_b: 1 } },
    }
    const stored = numberEntries(read('agui', message))
    const find = (id: string) => stored.find(({ entry_id }) => entry_id === id)
    for (const format of ['envelope', 'store', 'swarm'] as const) {
      const abroad = plain(codecs[format].write(stored))
      const back = codecs[format].read(abroad, { ...context, find })
      expect(plain(codecs.agui.write(back))).toEqual([message])
    }
    const [rescue] = read('swarm', { role: 'resque', agentName: 'a', content: 'x', mode: 'tool' })
    expect(storeCodec.write(rescue ? [rescue] : [])[0]).toMatchObject({ type: 'error', error_type: 'rescue' })
    expect(codecs.swarm.write(rescue ? [rescue] : [])[0]?.role).toBe('resque')
  })
})
