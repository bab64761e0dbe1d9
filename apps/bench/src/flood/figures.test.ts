import { expect, test } from 'vitest'
import { rows } from '../aims/rows.ts'
import type { FloodRound } from './figures.ts'
import { toFloodFigures } from './figures.ts'

const times = (serverP99Ms: number) => ({ serverP99Ms, clientP99Ms: 5 * serverP99Ms, loopDelayP99Ms: 1 })
const flooded = { perSecond: 500, statuses: { '401': 500 } }

/** Makes a round that the machine slows down by this factor. */
function makeRound(factor: number): FloodRound {
  return {
    alone: times(4 * factor),
    acceptedMicros: 600 * factor,
    withFloods: [
      { ...flooded, honest: times(6 * factor), refusedMicros: 60 * factor },
      { ...flooded, honest: times(8 * factor), refusedMicros: 150 * factor },
    ],
  }
}

test('toFloodFigures() computes ratios within each round, so that one slow round does not distort them', () => {
  const figures = toFloodFigures([makeRound(1), makeRound(10), makeRound(1)], 100)
  expect(figures.map(({ name, value, ratio }) => [name, value, ratio])).toEqual([
    ['Honest p99 in the server, alone', 4, undefined],
    ['CPU of an accepted post', 600, undefined],
    [rows.p99BesideUnsigned.row, 6, 1.5],
    [rows.refusedUnsigned.row, 60, 0.1],
    [rows.p99BesideForged.row, 8, 2],
    [rows.refusedForged.row, 150, 0.25],
  ])
})

test('toFloodFigures() notes the rate of the flood, its responses, and the p99 at the client', () => {
  const note = toFloodFigures([makeRound(1)], 100)[2]?.note
  expect(note).toContain('500 posts a second (5.0 times the honest ones)')
  expect(note).toContain('answered with 401')
  expect(note).toContain('p99 at the client 30.0 ms')
})
