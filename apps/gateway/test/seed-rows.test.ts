import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { seedRows } from './seed-rows.ts'

// Every rule of the four formats (docs/conformance/transcript.md), and the tests that name it: a rule without one, or one whose test is gone, fails here.

const rowsOf = { E: 44, C: 32, S: 34, W: 32 }

describe.each(seedRows)('%s', (id, files) => {
  test('is shown by a test', () => expect(files).not.toEqual([]))

  test.each(files.map(file => [file]))('is named by a test of %s', file => {
    const source = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')
    expect(listNamed(source)).toContain(id)
    expect(source).not.toMatch(/\b(test|describe|it)\.(skip|todo|only|skipIf|runIf)\b|@unittest\.skip/)
  })
})

test('every row is there, once, in its order', () => {
  const expected = Object.entries(rowsOf).flatMap(([letter, count]) =>
    Array.from({ length: count }, (_, at) => `${letter}-${String(at + 1).padStart(2, '0')}`),
  )
  expect(seedRows.map(([id]) => id)).toEqual(expected)
})

/** Rows that titles of tests, and names of rows in tables of tests, name. */
function listNamed(source: string): readonly string[] {
  const titles = [...source.matchAll(/(?:\b(?:test|describe|it)|\))\(\s*(['"`])((?:(?!\1).)+)\1,/g)]
  const tableRows = [...source.matchAll(/\[\s*(['"`])((?:(?!\1).)+)\1,/g)]
  const python = [...source.matchAll(/(def) (test_\w+)/g)]
  const words = [...titles, ...tableRows, ...python].map(([, , title = '']) =>
    title.replace(/([ECSW])_(\d\d)/g, ' $1-$2 '),
  )
  return words.flatMap(title => title.match(/[ECSW]-\d\d/g) ?? [])
}
