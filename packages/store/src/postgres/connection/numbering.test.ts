import { expect, test } from 'vitest'
import { collectPortedStatements } from '../../../test/collect-statements.ts'
import { createNumbering, readNumberedInsert } from './numbering.ts'

test('readNumberedInsert() adds the number to an insert that asks for it', () => {
  expect(readNumberedInsert("INSERT INTO t (a, b)\n  VALUES (?, 'x') RETURNING seq AS id")).toEqual({
    table: 't',
    column: 'seq',
    name: 'id',
    sql: "INSERT INTO t (a, b, seq) VALUES (?, 'x', ?)",
  })
})

test.each([
  'INSERT INTO t (a) VALUES (?) ON CONFLICT DO NOTHING RETURNING id',
  'INSERT INTO t (a) SELECT b FROM u RETURNING id',
  'INSERT INTO t (a) VALUES (?1) RETURNING id',
  'INSERT INTO t (a) VALUES (?)',
  'INSERT INTO t (a) VALUES (?) RETURNING id, a',
])('readNumberedInsert() leaves the number to the server: %s', sql => {
  expect(readNumberedInsert(sql)).toBeUndefined()
})

test('the gateway numbers messages, refusals, tasks, conversations and threads itself', async () => {
  const tables = (await collectPortedStatements()).flatMap(sql => readNumberedInsert(sql)?.table ?? [])
  expect(new Set(tables)).toEqual(new Set(['messages', 'refusals', 'tasks', 'threads', 'transcript_threads']))
})

test('numbering reads a sequence once, and moves it on at the end or before the server numbers rows itself', () => {
  const sent: string[] = []
  const numbering = createNumbering({
    add(text: string, values: readonly number[]) {
      sent.push([/setval/.test(text) ? 'set' : 'look', ...values].join(' '))
      return text
    },
    resultOf: () => ({ rows: [{ t: 7 }], changes: 1, tag: 'SELECT 1' }),
  })
  numbering.addTable({ table: 't', column: 'id', name: 'id', sql: '' })
  numbering.begin()
  expect([numbering.next('t'), numbering.next('t')]).toEqual([8, 9])
  numbering.letGo('t')
  expect(numbering.next('t')).toBe(8)
  numbering.end()
  numbering.begin()
  numbering.end()
  expect(sent).toEqual(['look', 'set 9', 'look', 'set 8', 'look'])
})
