import { expect, test } from 'vitest'
import { readMembers } from './read-members.ts'

test('readMembers() reads lazy members together, and leaves deep or failing ones alone', () => {
  const looked: string[] = []
  const lazy = (name: string) => ({
    get raw() {
      looked.push(name)
      if (name === 'c') throw new Error('gone')
      return name
    },
  })
  const together: number[] = []
  readMembers(
    [[{ content: lazy('a') }], lazy('b'), lazy('c'), { far: { far: { far: { far: lazy('d') } } } }, null, 'x'],
    readings => {
      together.push(readings.length)
      for (const read of readings) read()
    },
  )
  expect(together).toEqual([3])
  expect(() =>
    readMembers([lazy('e')], () => {
      throw new Error('the database is away')
    }),
  ).not.toThrow()
  expect(looked).toEqual(['a', 'b', 'c'])
})
