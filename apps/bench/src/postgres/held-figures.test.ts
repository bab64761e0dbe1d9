import { expect, test } from 'vitest'
import { rows } from '../aims/rows.ts'
import { heldPlans } from './held.ts'
import { toHeldFigures } from './held-figures.ts'

const round = (perSecond: number, databaseMicros = 500) => ({ perSecond, databaseMicros, share: 0.2 })

test('toHeldFigures() compares gateways with one of the same round, and divides a second by what a call costs', () => {
  const figures = toHeldFigures(heldPlans, [
    [round(100), round(200), round(100)],
    [round(190), round(380), round(190)],
    [round(350), round(700), round(350)].map(each => ({ ...each, databaseMicros: 400 })),
  ])
  expect(figures.map(({ name, value, ratio }) => [name, value, ratio])).toEqual([
    ['one gateway', 100, undefined],
    [rows.twoHeldGateways.row, 190, 1.9],
    [rows.fourHeldGateways.row, 350, 3.5],
    [rows.databaseCore.row, 2_500, undefined],
  ])
  expect(figures[0]?.note).toContain('each used 20 % of a core; 500 µs of CPU time of the database a call')
})
