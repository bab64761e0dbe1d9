import { expect, test } from 'vitest'
import { openStoreUnderTest } from '../../test/open-test-store.ts'
import { maxStoredPerSecond } from './refusals.ts'

const refusal = { at: '2026-06-01T00:00:00.000Z', from: '192.0.2.1', reason: 'Cannot verify' }

test('the store counts all of a flood, lists a part of it, and keeps refusals of other kinds', async () => {
  const { store, advance } = await openStoreUnderTest()
  const unsigned = { ...refusal, via: 'activitypub', code: 'unsigned' } as const
  const listed = Array.from({ length: 1_000 }, () => store.refuse(unsigned))
  expect(listed.filter(Boolean)).toHaveLength(maxStoredPerSecond)
  expect(store.refuse({ ...unsigned, code: 'expired' })).toBe(true)
  expect(store.refuse({ ...unsigned, via: 'email' })).toBe(true)
  expect(await store.listRefusals({ limit: 2_000 })).toHaveLength(maxStoredPerSecond + 2)
  const { refusals, refused } = await store.count()
  expect(refusals).toBe(1_002)
  expect(refused.toSorted((one, other) => one.count - other.count)).toEqual([
    { via: 'activitypub', code: 'expired', count: 1 },
    { via: 'email', code: 'unsigned', count: 1 },
    { via: 'activitypub', code: 'unsigned', count: 1_000 },
  ])
  advance(1_000)
  expect(store.refuse(unsigned)).toBe(true)
  await store.close()
})
