import { expect, test } from 'vitest'
import { rows } from '../aims/rows.ts'
import { limitedPlans } from './cpu-limited.ts'
import { toLimitedFigures } from './cpu-limited-figures.ts'

const round = (perSecond: number, databaseMicros = 500) => ({ perSecond, databaseMicros, share: 0.2 })

test('toLimitedFigures() computes the ratio to one gateway within each round, and the calls per second of one database core', () => {
  const figures = toLimitedFigures(limitedPlans, [
    [round(100), round(200), round(100)],
    [round(190), round(380), round(190)],
    [round(350), round(700), round(350)].map(cpuRound => ({ ...cpuRound, databaseMicros: 400 })),
  ])
  expect(figures.map(({ name, value, ratio }) => [name, value, ratio])).toEqual([
    ['one gateway', 100, undefined],
    [rows.twoLimitedGateways.row, 190, 1.9],
    [rows.fourLimitedGateways.row, 350, 3.5],
    [rows.databaseCore.row, 2_500, undefined],
  ])
  expect(figures[0]?.note).toContain('each used 20 % of a core; 500 µs of CPU time of the database a call')
})
