import { expect, test } from 'vitest'
import { collectPortedStatements } from '../../../test/collect-statements.ts'
import { runNow } from '../../sql/operation.ts'
import { createRowNumbering, formatSequenceName, readNumberedInsert } from './numbering.ts'
import { createStatement } from './statement-session.ts'

test('readNumberedInsert() adds the number to an insert that requests it', () => {
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

test('createRowNumbering() reserves numbers of usual tables first, uses them in order, and reserves more if needed', () => {
  const sent: string[] = []
  let last = 0
  const sequences = new Map([
    ['messages', formatSequenceName({ table: 'messages', column: 'seq' })],
    ['refusals', formatSequenceName({ table: 'refusals', column: 'id' })],
  ])
  const numbering = createRowNumbering(sequences, (text, values) => {
    const [count = 0] = values
    const [table = ''] = /\w+$/.exec(text.replace(/ FROM.*/, '')) ?? []
    const numbers = Array.from({ length: count }, () => ++last)
    sent.push(`${table} ${count}`)
    const result = { rows: [{ [table]: numbers.join() }], changes: 1, tag: 'SELECT 1' }
    return { statement: createStatement(text), values, result }
  })
  const takeNumber = (table: string) => runNow(numbering.takeNumber(table))
  numbering.begin(2)
  expect([takeNumber('messages'), takeNumber('messages'), takeNumber('messages')]).toEqual([1, 2, 3])
  expect(takeNumber('refusals')).toBe(19)
  // Unused numbers stay unused.
  numbering.begin(1)
  expect(takeNumber('messages')).toBe(35)
  expect(sent).toEqual(['messages 2', 'messages 16', 'refusals 16', 'messages 1'])
})
