import { drawCount } from '@postern/testing/scale'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findEdit } from './likeness.ts'

/** Returns the number of edits and swaps of neighbours that turn one text into another (optimal string alignment). */
function measureDistance(left: string, right: string): number {
  const rows = Array.from({ length: left.length + 1 }, (_, row) =>
    Array.from({ length: right.length + 1 }, (_, at) => row + at),
  )
  const cost = (row: number, at: number) => rows[row]?.[at] ?? 0
  for (let row = 1; row <= left.length; row += 1) {
    for (let at = 1; at <= right.length; at += 1) {
      const substitutionCost = left[row - 1] === right[at - 1] ? 0 : 1
      const isSwap = row > 1 && at > 1 && left[row - 1] === right[at - 2] && left[row - 2] === right[at - 1]
      const swapCost = isSwap ? cost(row - 2, at - 2) + 1 : Number.POSITIVE_INFINITY
      const lowestCost = Math.min(
        cost(row - 1, at) + 1,
        cost(row, at - 1) + 1,
        cost(row - 1, at - 1) + substitutionCost,
        swapCost,
      )
      rows[row]?.splice(at, 1, lowestCost)
    }
  }
  return cost(left.length, right.length)
}

test('findEdit() finds exactly one edit', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 7 })
  fc.assert(
    fc.property(word, word, (left, right) => {
      expect(findEdit(left, right) !== undefined).toBe(measureDistance(left, right) === 1)
    }),
    { numRuns: drawCount({ quick: 1_000, long: 3_000 }) },
  )
})

test('findEdit() describes the difference', () => {
  expect(findEdit('host1', 'host2')).toEqual(['1', '2'])
  expect(findEdit('northwind', 'nortwhind')).toEqual(['hw', 'wh'])
  expect(findEdit('aab', 'ab')).toEqual(['a', ''])
})
