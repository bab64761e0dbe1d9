import { expect, test } from 'vitest'
import { readMembers } from './read-members.ts'

test('readMembers() reads lazy members together, and leaves deep or failing ones alone', async () => {
  const looked: string[] = []
  const lazy = (name: string) => ({
    get raw() {
      looked.push(name)
      if (name === 'c') throw new Error('gone')
      return name
    },
  })
  const together: number[] = []
  await readMembers(
    [[{ content: lazy('a') }], lazy('b'), lazy('c'), { far: { far: { far: { far: lazy('d') } } } }, null, 'x'],
    async readings => {
      together.push(readings.length)
      for (const read of readings) read()
    },
  )
  expect(together).toEqual([3])
  await readMembers([lazy('e')], async () => {
    throw new Error('the database is away')
  })
  expect(looked).toEqual(['a', 'b', 'c'])
})
