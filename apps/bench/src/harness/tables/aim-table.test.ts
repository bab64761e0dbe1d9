import { expect, test } from 'vitest'
import { rows } from '../../aims/rows.ts'
import { collectAims, formatAims } from './aim-table.ts'

const measured = [
  { ...rows.startMemory, value: 120.4, unit: 'MB' },
  { ratio: 0.3 },
  { ...rows.callAtOnce, ratio: 0.95 },
  { ...rows.agentsStart, value: 4.7, unit: 's' },
]

test('collectAims() keeps the figures that have a row of targets, in the order of the rows', () => {
  expect(collectAims(measured)).toEqual([
    { ...rows.callAtOnce, figure: 0.95, isMet: true },
    { ...rows.agentsStart, figure: 4.7, unit: 's' },
    { ...rows.startMemory, figure: 120.4, unit: 'MB', isMet: false },
  ])
})

test('formatAims() writes ratios without a unit, and marks figures without a target', () => {
  expect(
    formatAims(collectAims(measured))
      .split('\n')
      .map(line => line.replace(/ +/g, ' ')),
  ).toEqual([
    'row figure aim',
    `${rows.callAtOnce.row} 0.95 ≥ 0.9 met`,
    `${rows.agentsStart.row} 4.7 s none`,
    `${rows.startMemory.row} 120 MB ≤ 115 missed`,
  ])
})
