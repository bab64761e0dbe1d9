import { expect, test } from 'vitest'
import { listUnreadMembers } from './read-members.ts'

test('listUnreadMembers() finds lazy members, and leaves deep ones alone', () => {
  const looked: string[] = []
  const lazy = (name: string) => ({
    get raw() {
      looked.push(name)
      return name
    },
  })
  const values = [[{ content: lazy('a') }], lazy('b'), { far: { far: { far: { far: lazy('d') } } } }, null, 'x']
  const unread = values.map(listUnreadMembers)
  expect(looked).toEqual([])
  expect(unread.map(readings => readings.map(read => read()))).toEqual([['a'], ['b'], [], [], []])
})
