import { expect, test } from 'vitest'
import { memoize } from './memoize.ts'

function openMemo() {
  let made = 0
  const remember = memoize<number>({ sizeOf: () => 1_000_000 })
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

test('memoize() forgets the least recently used of many large results', () => {
  const { look } = openMemo()
  for (const char of 'abcdefgh') look(long(char))
  look(long('a'))
  look(long('i'))
  expect(look(long('a'))).toBe(1)
  expect(look(long('b'))).toBe(10)
})

test('memoize() keeps what it has just made, however large that is', () => {
  let made = 0
  const remember = memoize<number>({ sizeOf: () => 100_000_000 })
  const look = (text: string) => remember(text, () => (made += 1))
  expect([look(long('a')), look(long('a')), look(long('b')), look(long('b')), look(long('a'))]).toEqual([1, 1, 2, 2, 3])
})

test('memoize() holds small results of texts of any length', () => {
  let made = 0
  const remember = memoize<number>({ sizeOf: () => 1 })
  for (let round = 0; round < 2; round += 1)
    for (const char of 'abcdefghijklmnopqrstuvwxyz') remember(char.repeat(1_000_000), () => (made += 1))
  expect(made).toBe(26)
})

test('memoize() holds a bounded number of results', () => {
  let made = 0
  const remember = memoize<number>({ sizeOf: () => 0 })
  const look = (at: number) => remember(`${at} `.repeat(2_048), () => (made += 1))
  for (let at = 0; at <= 2_000; at += 1) look(at)
  look(0)
  expect(made).toBe(2_002)
})
