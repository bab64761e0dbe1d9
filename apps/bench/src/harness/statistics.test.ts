import { expect, test } from 'vitest'
import { median, quantile } from './statistics.ts'

test('median() returns the middle value, or the mean of the two middle values', () => {
  expect(median([9, 1, 5])).toBe(5)
  expect(median([4, 1, 3, 2])).toBe(2.5)
  expect(median([7])).toBe(7)
  expect(median([])).toBeNaN()
})

test('quantile() returns the value at the given share, and the largest value for 1', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index)
  expect(quantile(hundred, 0.99)).toBe(100)
  expect(quantile(hundred, 0.5)).toBe(51)
  expect(quantile(hundred, 1)).toBe(100)
  expect(quantile([], 0.99)).toBeNaN()
})
