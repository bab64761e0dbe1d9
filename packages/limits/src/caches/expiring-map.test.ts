import { expect, test } from 'vitest'
import { createExpiringMap } from './expiring-map.ts'

// The memory of foreign servers, which can make up as many names as they like.

test('createExpiringMap() holds a bounded number of keys, and drops the least recently used first', () => {
  const map = createExpiringMap<number>(100, () => 0)
  map.set('in use', 0, 1_000)
  for (let index = 0; index < 10_000; index += 1) {
    map.set(`https://${index}.wildcard.test/`, index, 1_000)
    map.get('in use')
  }
  const storedValues = Array.from({ length: 10_000 }, (_, index) => map.get(`https://${index}.wildcard.test/`)).filter(
    value => value !== undefined,
  )
  expect(storedValues).toHaveLength(99)
  expect(map.get('in use')).toBe(0)
})

test('createExpiringMap() drops expired entries', () => {
  let now = 0
  const map = createExpiringMap<number>(100, () => now)
  map.set('https://good.test/', 1, 1_000)
  now = 999
  expect(map.get('https://good.test/')).toBe(1)
  now = 1_000
  expect(map.get('https://good.test/')).toBeUndefined()
})

test('createExpiringMap() drops entries that would live longer after the clock goes back', () => {
  let now = 86_400_000
  const map = createExpiringMap<number>(100, () => now)
  map.set('https://good.test/', 1, 1_000)
  map.set('https://lasting.test/', 1)
  now = 0
  expect([map.get('https://good.test/'), map.get('https://lasting.test/')]).toEqual([undefined, 1])
})
