import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { takeNumberedParameters, toNamedFirst } from './numbered-parameters.ts'

test.each([
  ['SELECT ?1, ?1', [1, 2], ['one', 'two'], { '?1': 'one', '?2': 'two' }, []],
  ['a plain ? takes the number after those so far', [1, 2], [1, 'two', null], { '?1': 1, '?2': 'two' }, [null]],
  ['plain ones alone', [], [1, 2], {}, [1, 2]],
] as const)(
  'toNamedFirst() names the numbered values and leaves the others in order: %s',
  (_, numbered, values, named, plain) => {
    expect(toNamedFirst(values, new Set<number>(numbered))).toEqual([named, ...plain])
  },
)

test('takeNumberedParameters() leaves a database alone whose statements take numbers already', () => {
  const db = new DatabaseSync(':memory:')
  takeNumberedParameters(db)
  expect(Object.hasOwn(db, 'prepare')).toBe(false)
  expect(db.prepare('SELECT ?1 AS value').get(1)).toEqual({ value: 1 })
  db.close()
})
