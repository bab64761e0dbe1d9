import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { compositionRows, endpointRows } from './mentionable/composition.ts'
import { connectorRows } from './mentionable/connectors.ts'
import { discoveryRows } from './mentionable/discovery.ts'
import { identityRows } from './mentionable/identity.ts'
import { messageRows } from './mentionable/message.ts'
import { policyRows } from './mentionable/policy.ts'
import { mayBePending, pendingRows } from './mentionable/row.ts'

// Every rule of Mentionable that its guide, a page of its specification or its connector kit states: which test shows it.

const rows = [
  ...discoveryRows,
  ...messageRows,
  ...identityRows,
  ...policyRows,
  ...compositionRows,
  ...endpointRows,
  ...connectorRows,
]

/** How many rules each group (docs/conformance/identity.md) has. */
const rulesOf: readonly (readonly [section: string, rules: number])[] = [
  ['MN-1.1', 3],
  ['MN-1.2', 8],
  ['MN-1.3', 11],
  ['MN-1.4', 6],
  ['MN-1.5', 5],
  ['MN-1.6', 2],
  ['MN-2', 6],
  ['MN-2.1', 6],
  ['MN-2.2', 3],
  ['MN-2.3', 1],
  ['MN-2.4', 2],
  ['MN-3', 5],
  ['MN-4', 6],
  ['MN-4.1', 3],
  ['MN-4.2', 5],
  ['MN-5', 7],
  ['MN-6.1', 3],
  ['MN-6.2', 3],
  ['MN-6.3', 4],
  ['MN-6.5', 6],
  ['MN-6.6', 1],
  ['MN-7.1', 12],
  ['MN-7.2', 3],
  ['MN-8.1', 5],
  ['MN-8.2', 1],
  ['MN-8.3', 5],
  ['MN-8.4', 1],
  ['MN-9.1', 5],
  ['MN-9.2', 9],
  ['MN-11', 8],
]

/** Rules that are not ours to keep; each says why. */
const leftOut = ['MN-1.4/6', 'MN-1.5/2', 'MN-1.5/3', 'MN-2/6', 'MN-3/5', 'MN-5/7', 'MN-6.6/1', 'MN-7.1/12']

const shown = rows.filter(({ shownBy = [] }) => shownBy.length > 0)

describe.each(shown)('$id [$mark] $rule', ({ shownBy = [] }) => {
  test.each(shownBy)('%s', reference => {
    const [file = '', title = ''] = reference.split(' › ')
    const source = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')
    expect(listTitles(source)).toContain(title)
    expect(source).not.toMatch(/\b(test|describe|it)\.(skip|todo|only|skipIf|runIf)\b/)
  })
})

test('every rule of every section is there, once, in its order', () => {
  const expected = rulesOf.flatMap(([section, count]) =>
    Array.from({ length: count }, (_, at) => `${section}/${at + 1}`),
  )
  expect(rows.map(({ id }) => id)).toEqual(expected)
})

test('every rule is shown by a test, left out for a reason, or pending', () => {
  expect(rows.filter(row => row.leftOut).map(({ id }) => id)).toEqual(leftOut)
  const open = rows.filter(row => !row.leftOut && !shown.includes(row)).map(({ id }) => id)
  expect(open).toEqual(pendingRows)
})

test('nothing is pending', () => {
  expect(mayBePending ? [] : pendingRows).toEqual([])
})

/** Titles of tests and groups, and the names of rows in tables of tests, as they are written. */
function listTitles(source: string): readonly string[] {
  const titles = [...source.matchAll(/(?:\b(?:test|describe)|\))\(\s*(['"`])((?:(?!\1).)+)\1,/g)]
  const tableRows = [...source.matchAll(/\[\s*(['"`])((?:(?!\1).)+)\1,/g)]
  return [...titles, ...tableRows].map(([, , title = '']) => title)
}
