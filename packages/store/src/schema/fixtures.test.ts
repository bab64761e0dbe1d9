import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sketchedChannels, sketchIntake } from '@postern/testing'
import { expect, test } from 'vitest'
import { discardLog, makeDirectory } from '../../test/open-test-store.ts'
import { listFixtureNumbers, writeFixture } from '../../test/schema-fixture/fixtures.ts'
import { findInconsistencies } from '../../test/soundness.ts'
import { openSqliteStore } from '../index.ts'
import { readTableNames } from './expected-tables.ts'
import { migrateDatabase } from './migrate.ts'
import { schemaMigrations } from './migrations.ts'

const open = (path: string) =>
  openSqliteStore({
    channels: sketchedChannels,
    path,
    now: () => Date.UTC(2026, 5, 9),
    log: discardLog,
    exclusive: true,
  })

function readDefinitions(db: DatabaseSync) {
  const schema = db.prepare('SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name').all()
  db.close()
  return schema
}

test('every schema version has a fixture, made by its own program', () => {
  expect(listFixtureNumbers()).toEqual(schemaMigrations.map((_, at) => at + 1))
})

test.each(listFixtureNumbers())(
  'a database of version %i opens, keeps its conversations and continues',
  async number => {
    const path = writeFixture(String(number), join(makeDirectory(), 'postern.db'))
    const store = await open(path)
    expect(await store.findMessage('known-1')).toMatchObject({ response: { parts: [{ content: 'a known answer' }] } })
    const later = sketchIntake('known-3', { message: { thread_source: 'known' } })
    expect(await store.admit(later, 'c')).toMatchObject({ outcome: 'accepted' })
    const turns = await store.leaseTurns({ holder: 'worker', limit: 99, leaseMs: 60_000 })
    expect(turns.map(({ content }) => content.id)).toContain('known-2')
    await store.close()
    expect(findInconsistencies(path)).toEqual([])
  },
)

test.each(listFixtureNumbers())('a database of version %i gets the same tables as a new one', number => {
  const db = new DatabaseSync(writeFixture(String(number), join(makeDirectory(), 'postern.db')))
  const fresh = new DatabaseSync(':memory:')
  for (const each of [db, fresh]) migrateDatabase(each)
  expect(readTableNames(db)).toEqual(readTableNames(fresh))
  expect(readDefinitions(db)).toEqual(readDefinitions(fresh))
})

test('openSqliteStore() refuses a known version with other tables, and names the file, the difference and a fix', async () => {
  const path = writeFixture('unreleased', join(makeDirectory(), 'postern.db'))
  await expect(open(path)).rejects.toThrow(
    `data: "${path}" was written by a program that was never released (its table "`,
  )
  await expect(open(path)).rejects.toThrow('Export its conversations with that program, then move it away')
})

test('openSqliteStore() does not take a higher version without a mark for a newer release', async () => {
  const path = writeFixture('1', join(makeDirectory(), 'postern.db'))
  const db = new DatabaseSync(path)
  db.exec('PRAGMA user_version = 17')
  db.close()
  await expect(open(path)).rejects.toThrow('never released (its tables have number 17')
})

test('a database with the operator’s own table and index opens', async () => {
  const path = writeFixture('1', join(makeDirectory(), 'postern.db'))
  const db = new DatabaseSync(path)
  db.exec('CREATE TABLE my_notes (text TEXT); CREATE INDEX my_index ON messages (at)')
  db.close()
  await (await open(path)).close()
})
