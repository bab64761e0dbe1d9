import { DatabaseSync } from 'node:sqlite'
import { sketchedChannels, sketchIntake } from '@postern/testing'
import { expect, test } from 'vitest'
import { discardLog, makeDirectory } from '../../test/open-test-store.ts'
import { secondVersion } from '../../test/second-version.ts'
import { openSqliteStore } from '../index.ts'
import { migrateDatabase } from './migrate.ts'
import { schemaMigrations } from './migrations.ts'

const withNext = [...schemaMigrations, secondVersion]

async function openFilled(): Promise<DatabaseSync> {
  const path = `${makeDirectory()}/postern.db`
  const store = await openSqliteStore({ channels: sketchedChannels, path, now: Date.now, log: discardLog })
  for (const id of ['m1', 'm2']) await store.admit(sketchIntake(id, { message: { thread_source: `Of ${id}` } }), 'c')
  await store.close()
  return new DatabaseSync(path)
}

const listNames = (db: DatabaseSync) => db.prepare('SELECT name FROM sqlite_master ORDER BY name').all()
const readVersion = (db: DatabaseSync) => db.prepare('PRAGMA user_version').get()?.user_version

test('a filled file of the previous version keeps its rows and gets the new tables and version', async () => {
  const db = await openFilled()
  migrateDatabase(db, { steps: withNext })
  expect(readVersion(db)).toBe(withNext.length)
  expect(db.prepare('SELECT title FROM threads ORDER BY id').all()).toEqual([
    { title: 'a2a of m1' },
    { title: 'a2a of m2' },
  ])
  expect(db.prepare('SELECT count(*) AS messages FROM messages').get()).toEqual({ messages: 2 })
  db.exec("INSERT INTO threads (agent, channel, scope, key) VALUES ('echo', 'a2a', 'public', 'later')")
  expect(db.prepare('SELECT channel, threads FROM channel_totals').all()).toEqual([{ channel: 'a2a', threads: 3 }])
})

test('a new file gets all versions at once, and the same tables as an upgraded file', async () => {
  const [db, fresh] = [await openFilled(), new DatabaseSync(':memory:')]
  for (const each of [db, fresh]) migrateDatabase(each, { steps: withNext })
  expect(listNames(fresh)).toEqual(listNames(db))
})

test('a failed step leaves the file unchanged, without the steps before it', async () => {
  const db = await openFilled()
  const before = listNames(db)
  const failing = [...withNext, 'CREATE TABLE third (id INTEGER) STRICT; UPDATE threads SET no_such_column = 1;']
  expect(() => migrateDatabase(db, { steps: failing })).toThrow('no_such_column')
  expect(db.isTransaction).toBe(false)
  expect([readVersion(db), listNames(db)]).toEqual([schemaMigrations.length, before])
  migrateDatabase(db, { steps: withNext })
  expect(readVersion(db)).toBe(withNext.length)
})

test('migrateDatabase() names the file of a newer release and the fix', async () => {
  const db = await openFilled()
  migrateDatabase(db, { steps: withNext })
  const before = listNames(db)
  const numbers = `its tables have number ${withNext.length}, and this release knows ${schemaMigrations.length}`
  expect(() => migrateDatabase(db, { path: '/data/postern.db' })).toThrow(
    `data: "/data/postern.db" was written by a newer release (${numbers}). Start that release or a later one.`,
  )
  expect([readVersion(db), listNames(db)]).toEqual([withNext.length, before])
})
