import { expect, test } from 'vitest'
import { memoize } from './memoize.ts'

function openMemo() {
  let made = 0
  const remember = memoize<number>()
  return { look: (text: string) => remember(text, () => (made += 1)), count: () => made }
}

const long = (char: string) => char.repeat(500_000)

test('what was made of a long text is not made again', () => {
  const { look, count } = openMemo()
  expect([look(long('a')), look(long('a')), look(long('b'))]).toEqual([1, 1, 2])
  expect(count()).toBe(2)
})

test('a short text is not remembered', () => {
  const { look } = openMemo()
  expect([look('a'), look('a')]).toEqual([1, 2])
})

test('of many long texts the least recently used is forgotten', () => {
  const { look } = openMemo()
  for (const char of 'abcdefgh') look(long(char))
  look(long('a'))
  look(long('i'))
  expect(look(long('a'))).toBe(1)
  expect(look(long('b'))).toBe(10)
})
