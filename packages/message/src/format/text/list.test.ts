import { expect, test } from 'vitest'
import { formatList } from './list.ts'

test.each([
  [['a'], 'a'],
  [['a', 'b'], 'a and b'],
  [['a', 'b', 'c', 'd'], 'a, b, c and d'],
])('formatList() writes %j as "%s"', (names, sentence) => {
  expect(formatList(names)).toBe(sentence)
})
