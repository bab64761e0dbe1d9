import { expect, test } from 'vitest'
import { memoize } from './memoize.ts'

function openMemo() {
  let callCount = 0
  const remember = memoize<number>({ sizeOf: () => 1_000_000 })
  return { readText: (text: string) => remember(text, () => (callCount += 1)), count: () => callCount }
}

const long = (char: string) => char.repeat(500_000)

test('memoize() does not repeat its work for a long text', () => {
  const { readText: readCached, count } = openMemo()
  expect([readCached(long('a')), readCached(long('a')), readCached(long('b'))]).toEqual([1, 1, 2])
  expect(count()).toBe(2)
})

test('memoize() does not remember a short text', () => {
  const { readText: lookUp } = openMemo()
  expect([lookUp('a'), lookUp('a')]).toEqual([1, 2])
})

test('memoize() drops the least recently used of many large results', () => {
  const { readText: lookUp } = openMemo()
  for (const char of 'abcdefgh') lookUp(long(char))
  lookUp(long('a'))
  lookUp(long('i'))
  expect(lookUp(long('a'))).toBe(1)
  expect(lookUp(long('b'))).toBe(10)
})

test('memoize() keeps its newest result, even if that is larger than the cache', () => {
  let callCount = 0
  const remember = memoize<number>({ sizeOf: () => 100_000_000 })
  const lookUp = (text: string) => remember(text, () => (callCount += 1))
  expect([lookUp(long('a')), lookUp(long('a')), lookUp(long('b')), lookUp(long('b')), lookUp(long('a'))]).toEqual([
    1, 1, 2, 2, 3,
  ])
})

test('memoize() holds small results of texts of any length', () => {
  let callCount = 0
  const remember = memoize<number>({ sizeOf: () => 1 })
  for (let round = 0; round < 2; round += 1)
    for (const char of 'abcdefghijklmnopqrstuvwxyz') remember(char.repeat(1_000_000), () => (callCount += 1))
  expect(callCount).toBe(26)
})

test('memoize() holds a bounded number of results', () => {
  let callCount = 0
  const remember = memoize<number>({ sizeOf: () => 0 })
  const lookUp = (index: number) => remember(`${index} `.repeat(2_048), () => (callCount += 1))
  for (let index = 0; index <= 2_000; index += 1) lookUp(index)
  lookUp(0)
  expect(callCount).toBe(2_002)
})
