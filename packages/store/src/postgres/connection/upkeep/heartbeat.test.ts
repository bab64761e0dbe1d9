import { expect, test } from 'vitest'
import { lockNumberOf } from '../../server/lock-number.ts'
import { createExpiredCounter, formatPresence } from './heartbeat.ts'

test('the counter reports a gateway as expired only after four absences in a row', () => {
  const { count: see, reset } = createExpiredCounter()
  expect([see(['a']), see(['a', 'b']), see(['a'])]).toEqual([[], [], []])
  expect(see(['a', 'b'])).toEqual(['a'])
  expect(see(['a', 'b'])).toEqual(['a'])
  expect([see([]), see(['a']), see(['a']), see(['a'])]).toEqual([[], [], [], []])
  // After a time without checks any gateway may have returned.
  reset()
  expect(see(['a'])).toEqual([])
})

test('a name may have any characters', () => {
  expect(formatPresence('postern', "o'brien")).toContain("'o''brien'")
})

test('the lock of a gateway belongs to its own schema', () => {
  expect(lockNumberOf('one a')).not.toBe(lockNumberOf('two a'))
  expect(Number.isSafeInteger(lockNumberOf('one a'))).toBe(true)
})
