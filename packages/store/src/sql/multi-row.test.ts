import { expect, test } from 'vitest'
import { prepareForRows, repeatRow } from './multi-row.ts'

test('prepareForRows() runs one statement for up to six rows, and further ones for the rest, in the order of the rows', () => {
  const runs: unknown[] = []
  const insertRows = prepareForRows<string, number>(rowCount => `VALUES ${repeatRow('(?)', rowCount)}`)
  for (const rowCount of [0, 1, 6, 8])
    insertRows(
      Array.from({ length: rowCount }, (_, row) => row),
      (statement, rows) => runs.push([statement, rows]),
    )
  expect(runs).toEqual([
    ['VALUES (?)', [0]],
    ['VALUES (?), (?), (?), (?), (?), (?)', [0, 1, 2, 3, 4, 5]],
    ['VALUES (?), (?), (?), (?), (?), (?)', [0, 1, 2, 3, 4, 5]],
    ['VALUES (?), (?)', [6, 7]],
  ])
})
