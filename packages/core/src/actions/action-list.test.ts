import { describe, expect, test } from 'vitest'
import { createQuietPlatform } from '../../test/memory-store.ts'
import type { Part } from '../message/part.ts'
import type { AgentActions } from '../ports/agent/agent.ts'
import { createActionList } from './plan-actions.ts'

function openList() {
  let made = 0
  const randomBytes = (count: number) => new Uint8Array(count).fill(++made)
  return createActionList(createQuietPlatform({ randomBytes }))
}

describe('createActionList()', () => {
  test('gathers the actions of an agent in their order, and takes a text as markdown', () => {
    const list = openList()
    const id = list.post('news', { visibility: 'direct', mentions: ['@ada@peer.test'], subject: 'CW' })
    const link: Part = { kind: 'link', url: 'https://peer.test/' }
    list.edit(id, [link])
    list.delete(id)
    list.react('boost')
    list.react('unlike', 'm1')
    const parts = [{ kind: 'text', mime: 'text/markdown', content: 'news' }]
    expect(list.done).toEqual([
      { act: 'post', id, parts, visibility: 'direct', mentions: ['@ada@peer.test'], subject: 'CW' },
      { act: 'edit', response: id, parts: [link] },
      { act: 'delete', response: id },
      { act: 'boost', message: undefined },
      { act: 'unlike', message: 'm1' },
    ])
  })

  test('gives every post an id of its own', () => {
    const list = openList()
    const ids = [list.post('one'), list.post('two')]
    expect(ids).toEqual(['01', '02'].map(byte => '0'.repeat(12) + byte.repeat(10)))
  })

  test('options cannot change which post it is', () => {
    const list = openList()
    const id = list.post('one', { id: 'ff'.repeat(16), parts: [], act: 'delete' } as object)
    expect(list.done).toMatchObject([{ act: 'post', id, parts: [{ content: 'one' }] }])
  })

  test.each<[string, (acts: AgentActions) => unknown]>([
    ['a post without parts', acts => acts.post([])],
    ['a malformed part', acts => acts.post([{ kind: 'text' } as Part])],
    ['a visibility that there is not', acts => acts.post('x', { visibility: 'secret' as 'public' })],
    ['an edit without words', acts => acts.edit('r1', [])],
    ['a deletion of nothing', acts => acts.delete(undefined as unknown as string)],
    ['a reaction that there is not', acts => acts.react('hug' as 'like')],
  ])('throws on %s, in the face of the agent', (_what, act) => {
    const list = openList()
    expect(() => act(list)).toThrow(Error)
    expect(list.done).toEqual([])
  })

  test('allows an agent fifty actions in one turn, and no more', () => {
    const list = openList()
    for (let count = 0; count < 50; count++) list.react('like')
    expect(() => list.react('like')).toThrow('an agent may do at most 50 things in one turn')
    expect(list.done).toHaveLength(50)
  })
})
