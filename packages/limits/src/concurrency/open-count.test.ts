import { expect, test } from 'vitest'
import { createOpenCount } from './open-count.ts'

const tooMany = new Error('too many')

test('createOpenCount() refuses one more than the limit, for this key only', () => {
  const open = createOpenCount(2, () => tooMany)
  open('a')
  open('a')
  expect(() => open('a')).toThrow(tooMany)
  open('b')
})

test('a release frees one slot, even if a caller repeats it', () => {
  const open = createOpenCount(1, () => tooMany)
  const end = open('a')
  end()
  end()
  open('a')
  expect(() => open('a')).toThrow(tooMany)
})
