import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { writeTextTable } from './text-table.ts'

test('writeTextTable() separates columns, with numbers at the right', () => {
  const rows = [
    ['Day', 'Hours'],
    ['Mon', '9-5'],
    ['Tue', 'closed'],
  ]
  expect(writeTextTable(rows, ['left', 'right'])).toBe('Day   Hours\nMon     9-5\nTue  closed')
  expect(writeTextTable(rows)).toBe('Day  Hours\nMon  9-5\nTue  closed')
})

test('writeTextTable() measures terminal columns: two for ideographs and emoji, none for combining marks', () => {
  const rows = [
    ['抹茶', 'a'],
    ['👩\u200d🚀', 'b'],
    ['e\u0301', 'c'],
    ['tea!', 'd'],
  ]
  expect(writeTextTable(rows)).toBe('抹茶  a\n👩\u200d🚀    b\ne\u0301     c\ntea!  d')
})

test('writeTextTable() accepts rows of different lengths and cells with line ends', () => {
  expect(writeTextTable([['a\nb', 'c', 'd'], ['e']])).toBe('a b  c  d\ne')
  expect(writeTextTable([])).toBe('')
})

test('writeTextTable() takes linear time for many rows', () => {
  expect(measureGrowth(text => writeTextTable(text.split('|').map(cell => [cell, 'x'])), 'ab|', 32_000)).toBeLessThan(
    24,
  )
})
