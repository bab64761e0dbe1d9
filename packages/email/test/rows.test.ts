import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { behaviour } from './rows/behaviour.ts'
import { incoming } from './rows/incoming.ts'
import { outgoing } from './rows/outgoing.ts'

// The bug history of other mail programs, row by row: where it is shown what we make of it.

const rows = [...incoming, ...outgoing].toSorted((left, right) => left.row.localeCompare(right.row))

describe.each(rows)('$row: $title', ({ shownBy }) => {
  test.each(shownBy)('%s', expectShown)
})

describe.each(behaviour)('$section, $title', ({ shownBy }) => {
  test.each(shownBy)('%s', expectShown)
})

test('all 74 rows are there once, in their order, and each is shown by something', () => {
  expect(rows.map(({ row }) => row)).toEqual(
    Array.from({ length: 74 }, (_, at) => `EM-${String(at + 1).padStart(2, '0')}`),
  )
  expect(rows.filter(({ shownBy }) => shownBy.length === 0)).toEqual([])
})

test('the sections are in their order, and each line is shown by something', () => {
  const sections = behaviour.map(({ section }) => section.slice('EM-'.length).split('.').map(Number))
  expect(sections).toEqual(sections.toSorted(([a = 0, b = 0], [c = 0, d = 0]) => a - c || b - d))
  expect(behaviour.filter(({ shownBy }) => shownBy.length === 0)).toEqual([])
})

function expectShown(reference: string): void {
  const [file = '', title = ''] = reference.split(' › ')
  const source = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')
  expect(findTitles(source)).toContain(title)
  expect(source).not.toMatch(/\b(?:test|describe|it)\.(?:skip|todo|only|skipIf|runIf)\b/)
}

/** Titles of tests and of groups, and the first words of the lines of tables, as they are written. */
function findTitles(source: string): readonly string[] {
  const titles = source.matchAll(/(?:\b(?:test|describe)|\))\(\s*(['"`])((?:(?!\1).)+)\1,/g)
  const lines = source.matchAll(/\[\s*(['"`])((?:(?!\1).)+)\1,/g)
  return [...titles, ...lines].map(([, , title = '']) => title)
}
