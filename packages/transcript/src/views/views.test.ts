import { drawCount } from '@postern/testing/scale'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { messagesOf } from '../../test/arbitraries.ts'
import {
  buildHistory,
  buildQuestionEnvelope,
  codecs,
  type FormatName,
  findAnsweredQuestion,
  formatNames,
  listOpenWaits,
  numberEntries,
  repairPairs,
  type TranscriptEntry,
  viewEntries,
} from '../index.ts'

let made = 0

function readAll(format: FormatName, messages: readonly object[], overrides: object = {}): readonly TranscriptEntry[] {
  const context = { thread_id: 't', at: '2026-03-13T10:00:00.000Z', newId: () => `v${++made}`, ...overrides }
  return numberEntries(codecs[format].read(messages, context))
}

const swarmRow = (role: string, content: string, agentName = 'a', overrides: object = {}) => {
  return { role, content, agentName, mode: role === 'user' ? 'user' : 'tool', ...overrides }
}
const call = (...ids: string[]) => ({
  tool_calls: ids.map(id => ({ id, type: 'function', function: { name: 'look', arguments: {} } })),
})
const rowsOf = (entries: readonly TranscriptEntry[]) =>
  codecs.swarm.write(entries, { marker: 'none' }).map(({ role, content }) => `${role}:${content}`)
const orders = Object.fromEntries(formatNames.map(format => [format, fc.array(messagesOf[format], { maxLength: 8 })]))

describe('viewEntries()', () => {
  it('hides everything before the last flush or rescue, which the transcript keeps (W-12, W-13)', () => {
    const entries = readAll('swarm', [
      swarmRow('user', 'one'),
      swarmRow('flush', ''),
      swarmRow('user', 'two'),
      swarmRow('resque', 'empty output'),
      swarmRow('user', 'three'),
    ])
    expect(rowsOf(viewEntries(entries))).toEqual(['user:three'])
    expect(rowsOf(viewEntries(entries.slice(0, 3)))).toEqual(['user:two'])
    expect(entries).toHaveLength(5)
    expect(entries[3]?.error).toEqual({ message: 'empty output' })
  })

  it('shows another agent the shared entries without the first one’s calls, results and system rows (W-14)', () => {
    const entries = readAll('swarm', [
      swarmRow('user', 'hi'),
      swarmRow('system', 'be kind'),
      swarmRow('developer', 'shared note'),
      swarmRow('assistant', 'looking', 'a', call('c1')),
      swarmRow('tool', 'found', 'a', { tool_call_id: 'c1' }),
      swarmRow('assistant', 'there'),
    ])
    const seen = (agent_key: string) => rowsOf(viewEntries(entries, { scope: { kind: 'swarm', agent_key } }))
    expect(seen('b')).toEqual(['user:hi', 'developer:shared note', 'assistant:there'])
    expect(seen('a')).toHaveLength(6)
  })

  it('counts messages in the window, where 0 is none, and omits a pair over its edge (W-15, W-16)', () => {
    const entries = readAll('swarm', [
      swarmRow('user', 'hi'),
      swarmRow('assistant', 'looking', 'a', call('c1', 'c2')),
      swarmRow('tool', 'one', 'a', { tool_call_id: 'c1' }),
      swarmRow('tool', 'two', 'a', { tool_call_id: 'c2' }),
      swarmRow('assistant', 'there'),
    ])
    const seen = (window: number) => rowsOf(viewEntries(entries, { window, pairs: 'after-window' }))
    expect(seen(0)).toEqual([])
    expect(seen(4)).toEqual(['assistant:looking', 'tool:one', 'tool:two', 'assistant:there'])
    expect(seen(3)).toEqual(['assistant:there'])
  })

  it('hides an unanswered call and a result without a call, and names each (E-33)', () => {
    const entries = readAll('envelope', [
      { content: '', metadata: { type: 'tool_call', tool_name: 'a', tool_call_id: '1' } },
      { content: 'x', metadata: { type: 'tool_result', tool_name: 'b', tool_call_id: '2' } },
      { role: 'assistant', content: 'done' },
    ])
    const reports: string[] = []
    const seen = viewEntries(entries, { report: ({ code, index }) => reports.push(`${code} ${index}`) })
    expect(seen.map(({ kind }) => kind)).toEqual(['text'])
    expect(reports).toEqual(['orphan_tool_call 0', 'orphan_tool_result 1'])
  })

  it('shows a worker’s own turn and the broadcasts since, by the pipeline’s configuration (S-22)', () => {
    const trace = (type: string, content: string, agent_key: string) => ({ type, content, agent_key })
    const entries = readAll('store', [
      { type: 'user_message', content: 'hi' },
      trace('task', 'old', 'w'),
      trace('global_observation', 'before', 'z'),
      trace('task', 'new', 'w'),
      { type: 'action', tool: 'look', args: {}, agent_key: 'w' },
      trace('observation', 'found', 'w'),
      trace('observation', 'private', 'x'),
      trace('global_observation', 'since', 'z'),
    ])
    const seen = viewEntries(entries, {
      scope: { kind: 'store', scopes: ['conversation', 'agent', 'global'], agent_key: 'w' },
      role: { role: 'worker', agent_key: 'w' },
    })
    expect(codecs.store.write(seen).map(({ type, content }) => [type, content])).toEqual([
      ['task', 'new'],
      ['action', undefined],
      ['observation', 'found'],
      ['global_observation', 'since'],
    ])
  })

  it('changes nothing when applied twice, in every format', () => {
    for (const format of formatNames) {
      fc.assert(
        fc.property(orders[format] ?? fc.constant([]), messages => {
          const entries = readAll(format, messages)
          const once = viewEntries(entries)
          expect(viewEntries(once)).toEqual(once)
          expect(repairPairs(repairPairs(entries))).toEqual(repairPairs(entries))
        }),
        { numRuns: drawCount({ quick: 8, long: 40 }) },
      )
    }
  })
})

describe('buildHistory()', () => {
  it('alternates roles, joins a call and its result in one part, and omits plans and markers', () => {
    const entries = readAll('swarm', [
      swarmRow('user', 'hi'),
      swarmRow('system', 'be kind'),
      swarmRow('assistant', '', 'a', call('c1')),
      swarmRow('tool', 'found', 'a', { tool_call_id: 'c1' }),
      swarmRow('assistant', 'there'),
    ])
    const { turns } = buildHistory(entries, {})
    expect(turns.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(turns[1]?.parts).toEqual([
      { kind: 'tool_call', id: 'c1', name: 'look', args: {}, result: 'found' },
      { kind: 'text', mime: 'text/plain', content: 'there' },
    ])
  })

  it('never returns two adjacent turns of one role, for any text in any format', () => {
    for (const format of formatNames) {
      fc.assert(
        fc.property(orders[format] ?? fc.constant([]), messages => {
          const { turns } = buildHistory(readAll(format, messages), {})
          expect(turns.every((turn, index) => index === 0 || turn.role !== turns[index - 1]?.role)).toBe(true)
        }),
        { numRuns: drawCount({ quick: 8, long: 40 }) },
      )
    }
  })
})

describe('waits', () => {
  it('a question belongs to a tool, and the user’s next message answers it (E-40)', () => {
    const question = buildQuestionEnvelope('Which one?')
    expect(question).toMatchObject({ type: 'input_required', role: 'tool' })
    const asked = readAll('envelope', [{ role: 'user', content: 'hi' }, question])
    expect(findAnsweredQuestion(asked, 0)?.entry.content).toEqual(asked[1]?.content)
    expect(asked[1]?.chat_seq).toBe(2)
    const answered = readAll('envelope', [{ role: 'user', content: 'hi' }, question, { role: 'user', content: 'that' }])
    expect(listOpenWaits(answered, 0)).toEqual([])
  })

  it('an approval stays open over other messages until its result or its deadline (TR-26)', () => {
    const approval = {
      schema: 'agents-api.message',
      version: 1,
      type: 'approval_required',
      payload: { action_id: 'p1', expires_at: '2026-03-13T11:00:00.000Z' },
    }
    const decided = {
      role: 'user',
      content: 'ok',
      metadata: { type: 'tool_result', tool_name: 't', action_id: 'p1', action_status: 'accepted' },
    }
    const open = readAll('envelope', [approval, { role: 'user', content: 'still there?' }])
    expect(listOpenWaits(open, Date.UTC(2026, 2, 13, 10)).map(({ wait }) => wait.id)).toEqual(['p1'])
    expect(listOpenWaits(open, Date.UTC(2026, 2, 13, 12))).toEqual([])
    expect(listOpenWaits(readAll('envelope', [approval, decided]), 0)).toEqual([])
  })
})
