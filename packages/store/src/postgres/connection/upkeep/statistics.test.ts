import { expect, test } from 'vitest'
import { createOutdatedTableChoice } from './statistics.ts'

test('chooseOutdated() returns a table once, and again after it doubles or some time after recordFailure()', () => {
  const statistics = createOutdatedTableChoice()
  const tablesOf = (pages: number) => statistics.chooseOutdated([{ name: 'messages', pages }])
  expect(tablesOf(10)).toEqual(['messages'])
  expect(tablesOf(10)).toEqual([])
  expect(tablesOf(19)).toEqual([])
  expect(tablesOf(20)).toEqual(['messages'])
  statistics.recordFailure('messages')
  const checks = Array.from({ length: 31 }, () => tablesOf(20))
  expect(checks.findIndex(([table]) => table === 'messages')).toBe(29)
  expect(checks.flat()).toEqual(['messages'])
})
