import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { collectStatements } from '../test/collect-statements.ts'
import { migrateDatabase } from './schema/migrate.ts'

function explain(db: DatabaseSync, sql: string): readonly string[] {
  return db
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map(row => String(row.detail))
}

/**
 * The tables and queries that may be read from end to end: a few totals, tables with a fixed number of rows, the newest page in order, open
 * deliveries at the operator's request, running turns, and rare keys, once at the start and up to a limit.
 */
const allowedScans = [
  /^SCAN counters$/,
  /^SCAN (gateway_runs|refusals|store_setup)$/,
  /^SCAN \(subquery/,
  /^SCAN d USING INDEX deliveries_(open|dead)$/,
  /^SCAN turns USING COVERING INDEX turns_leased$/,
  /^SCAN (\d )?CONSTANT ROWS?$/,
  /^SCAN \d-ROW VALUES CLAUSE$/,
  /^SCAN v$/,
  /^SCAN json_each VIRTUAL TABLE/,
]

const isBounded = (sql: string) => / LIMIT 100000$/.test(sql)

test('no statement scans a whole table, so that no cost grows with the number of messages', async () => {
  const statements = await collectStatements()
  expect(statements.length).toBeGreaterThan(40)
  // The store opens its database with the same options.
  const db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false })
  migrateDatabase(db)
  const scans = statements.flatMap(sql =>
    explain(db, sql)
      .filter(detail => detail.startsWith('SCAN') && !allowedScans.some(allowed => allowed.test(detail)))
      .filter(() => !isBounded(sql))
      .map(detail => `${detail}: ${sql}`),
  )
  expect(scans).toEqual([])
})

/** Sorts of a few rows each: waiting deliveries, running turns, and the messages of one id. */
const allowedSorts = /INDEXED BY (deliveries_open|turns_leased)|FROM thread_aliases n JOIN messages m/

test('no statement sorts more rows for more messages', async () => {
  const db = new DatabaseSync(':memory:')
  migrateDatabase(db)
  const isSorting = (sql: string) => explain(db, sql).some(detail => detail.includes('TEMP B-TREE'))
  const sorting = (await collectStatements()).filter(sql => isSorting(sql) && !allowedSorts.test(sql))
  expect(sorting).toEqual([])
})

/**
 * Indexes for statements that are not prepared at the opening of a store: triggers, and pages of a transcript, whose plans `range-query.test.ts`
 * tests.
 */
const otherIndexes = ['transcript_entries_agent', 'transcript_entries_scope']

test('every index serves a statement', async () => {
  const db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false })
  migrateDatabase(db)
  const plans = (await collectStatements()).flatMap(sql => explain(db, sql)).join('\n')
  const indexes = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL").all()
  const unused = indexes.map(({ name }) => String(name)).filter(name => !new RegExp(`INDEX ${name}\\b`).test(plans))
  expect(unused.toSorted()).toEqual(otherIndexes)
})

test('the count of open tasks reads no ended task', async () => {
  const db = new DatabaseSync(':memory:')
  migrateDatabase(db)
  const counting = (await collectStatements()).filter(sql => /AS open,/.test(sql))
  expect(counting).toHaveLength(1)
  const plan = counting.flatMap(sql => explain(db, sql)).join()
  expect(plan).toContain('INDEX tasks_open (owner=?)')
  expect(plan).toContain('INDEX tasks_open_shares (owner=? AND share=?)')
})

test('an edit, and a reader of an edited message, skip superseded edits in the index', async () => {
  const db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false })
  migrateDatabase(db)
  const skipping = (await collectStatements()).filter(sql => /is_superseded = 0/.test(sql))
  expect(skipping).toHaveLength(3)
  for (const sql of skipping) {
    const plan = explain(db, sql).join()
    expect(plan).toContain('INDEX messages_principal (principal=? AND object=? AND channel=? AND is_superseded=?')
  }
})
