import type { Part } from '@postern/message'
import type { Entry } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { createHistoryView } from './history-view.ts'

const call = { kind: 'tool_call', id: 'c1', name: 'look', args: { where: 'here' }, result: 'nothing' } as const

function entryOf(seq: number, content: string, ...parts: readonly Part[]): Entry {
  const role = seq % 2 === 1 ? 'user' : 'assistant'
  return {
    seq,
    entryId: `e${seq}`,
    nativeId: `n${seq}`,
    role,
    author: { address: role === 'user' ? '@alice@peer.test' : '@desk@agents.test' },
    parts: [...parts, { kind: 'text', mime: 'text/plain', content }],
    at: '2026-01-01T00:00:00.000Z',
  }
}

const pastEntries = Array.from({ length: 20 }, (_, index) => entryOf(index + 1, `m${index + 1}`))
const idsOf = (view: ReturnType<typeof createHistoryView>, entries: readonly Entry[]) =>
  view.view(entries).turns.map(({ id }) => id)

describe('createHistoryView()', () => {
  test('gives an orchestrator the last eight messages, or its window, without actions (S-20)', () => {
    const entries = [...pastEntries, entryOf(21, 'm21'), entryOf(22, 'm22', call)]
    expect(idsOf(createHistoryView({ view: 'role:orchestrator' }), entries)).toEqual([
      'n15',
      'n16',
      'n17',
      'n18',
      'n19',
      'n20',
      'n21',
      'n22',
    ])
    const visibleEntries = createHistoryView({ view: 'role:orchestrator', keep: 2 }).view(entries)
    expect(visibleEntries.turns.map(({ id }) => id)).toEqual(['n21', 'n22'])
    expect(JSON.stringify(visibleEntries)).not.toContain('tool_call')
  })

  test('gives a manager and a worker nothing of a conversation without phase and task (S-21, S-22)', () => {
    expect(idsOf(createHistoryView({ view: 'role:manager' }), pastEntries)).toEqual([])
    expect(idsOf(createHistoryView({ view: 'role:worker' }), pastEntries)).toEqual([])
  })

  test('gives a swarm the last fifteen messages, or its window, with one message per call group (W-15)', () => {
    expect(idsOf(createHistoryView({ view: 'swarm' }), pastEntries)).toHaveLength(15)
    expect(idsOf(createHistoryView({ view: 'swarm', keep: 0 }), pastEntries)).toEqual([])
    const view = createHistoryView({ view: 'swarm', keep: 2 }).view([
      ...pastEntries,
      entryOf(21, 'm21'),
      entryOf(22, 'm22', call),
    ])
    expect(view.turns.map(({ parts }) => parts.map(({ kind }) => kind))).toEqual([['text'], ['tool_call', 'text']])
    expect(view.turns[1]?.parts[0]).toEqual(call)
  })

  test('applies the sliding window last, for every view', () => {
    expect(idsOf(createHistoryView({ view: 'swarm', maxTurns: 4 }), pastEntries)).toEqual(['n17', 'n18', 'n19', 'n20'])
    expect(idsOf(createHistoryView({ view: 'sliding', maxTurns: 4, keepHead: 2 }), pastEntries)).toEqual([
      'n1',
      'n2',
      'n19',
      'n20',
    ])
  })
})
