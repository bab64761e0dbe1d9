import { expect, test } from 'vitest'
import { createExpiringMap } from './expiring-map.ts'

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

test('createExpiringMap() forgets what a clock that somebody set back would keep for longer', () => {
  let now = 86_400_000
  const map = createExpiringMap<number>(100, () => now)
  map.set('https://good.test/', 1, 1_000)
  map.set('https://lasting.test/', 1)
  now = 0
  expect([map.get('https://good.test/'), map.get('https://lasting.test/')]).toEqual([undefined, 1])
})
