import { expect, test } from 'vitest'
import { memoize } from './cache.ts'

function openMemo() {
  let made = 0
  const remember = memoize<number>()
  return { look: (text: string) => remember(text, () => (made += 1)), count: () => made }
}

const long = (char: string) => char.repeat(500_000)

test('memoize() does not repeat its work for a long text', () => {
  const { look, count } = openMemo()
  expect([look(long('a')), look(long('a')), look(long('b'))]).toEqual([1, 1, 2])
  expect(count()).toBe(2)
})

test('memoize() does not remember a short text', () => {
  const { look } = openMemo()
  expect([look('a'), look('a')]).toEqual([1, 2])
})

test('memoize() forgets the least recently used of many long texts', () => {
  const { look } = openMemo()
  for (const char of 'abcdefgh') look(long(char))
  look(long('a'))
  look(long('i'))
  expect(look(long('a'))).toBe(1)
  expect(look(long('b'))).toBe(10)
})
