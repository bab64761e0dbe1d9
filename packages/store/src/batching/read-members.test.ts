import { expect, test } from 'vitest'
import { listUnreadMembers } from './read-members.ts'

test('listUnreadMembers() returns lazy members without reading them, and ignores deeply nested ones', () => {
  const readNames: string[] = []
  const lazy = (name: string) => ({
    get raw() {
      readNames.push(name)
      return name
    },
  })
  const values = [[{ content: lazy('a') }], lazy('b'), { far: { far: { far: { far: lazy('d') } } } }, null, 'x']
  const unread = values.map(listUnreadMembers)
  expect(readNames).toEqual([])
  expect(unread.map(readings => readings.map(read => read()))).toEqual([['a'], ['b'], [], [], []])
})
