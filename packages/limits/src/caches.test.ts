import { expect, test } from 'vitest'
import { createExpiringMap, memoize } from './limits.ts'

// The memory of foreign servers, which can make up as many names as they like.

test('createExpiringMap() holds so many keys, and forgets the least recently used first', () => {
  const map = createExpiringMap<number>(100, () => 0)
  map.set('in use', 0, 1_000)
  for (let at = 0; at < 10_000; at += 1) {
    map.set(`https://${at}.wildcard.test/`, at, 1_000)
    map.get('in use')
  }
  const held = Array.from({ length: 10_000 }, (_, at) => map.get(`https://${at}.wildcard.test/`)).filter(
    value => value !== undefined,
  )
  expect(held).toHaveLength(99)
  expect(map.get('in use')).toBe(0)
})

test('createExpiringMap() forgets in time', () => {
  let now = 0
  const map = createExpiringMap<number>(100, () => now)
  map.set('https://good.test/', 1, 1_000)
  now = 999
  expect(map.get('https://good.test/')).toBe(1)
  now = 1_000
  expect(map.get('https://good.test/')).toBeUndefined()
})

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
