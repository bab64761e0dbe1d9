import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { incoming } from './rows/incoming.ts'
import { outgoing } from './rows/outgoing.ts'

// The bug history of other mail programs, row by row: where it is shown what we make of it.

const rows = [...incoming, ...outgoing].toSorted((left, right) => left.row - right.row)

describe.each(rows)('row $row: $title', ({ shownBy }) => {
  test.each(shownBy)('%s', reference => {
    const [file = '', title = ''] = reference.split(' › ')
    const source = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')
    expect(findTitles(source)).toContain(title)
    expect(source).not.toMatch(/\b(?:test|describe|it)\.(?:skip|todo|only|skipIf|runIf)\b/)
  })
})

test('all 74 rows are there once, in their order, and each is shown by something', () => {
  expect(rows.map(({ row }) => row)).toEqual(Array.from({ length: 74 }, (_, at) => at + 1))
  expect(rows.filter(({ shownBy }) => shownBy.length === 0)).toEqual([])
})

/** Titles of tests and of groups, and the first words of the lines of tables, as they are written. */
function findTitles(source: string): readonly string[] {
  const titles = source.matchAll(/(?:\b(?:test|describe)|\))\(\s*(['"`])((?:(?!\1).)+)\1,/g)
  const lines = source.matchAll(/\[\s*(['"`])((?:(?!\1).)+)\1,/g)
  return [...titles, ...lines].map(([, , title = '']) => title)
}
