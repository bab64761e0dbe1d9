import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { ConfigError } from '@postern/message'
import { sketchedChannels, sketchIntake } from '@postern/testing'
import { expect, test } from 'vitest'
import { discardLog, makeDirectory, openStoreUnderTest } from '../../test/open-test-store.ts'
import { openSqliteStore } from '../index.ts'
import { migrateDatabase } from '../schema/migrate.ts'
import { schemaMigrations } from '../schema/migrations.ts'
import { openDatabase } from './open-database.ts'

const leaseRequest = { holder: 'worker', limit: 9, leaseMs: 60_000 }

function openAt(path: string, exclusive = false) {
  return openSqliteStore({ channels: sketchedChannels, path, now: Date.now, log: discardLog, exclusive })
}

test('openSqliteStore() creates its directory and files only for their owner', async () => {
  const directory = join(makeDirectory(), 'data')
  const store = await openAt(join(directory, 'postern.db'), true)
  await store.admit(sketchIntake('m1'), 'c')
  const modes = readdirSync(directory).map(name => [name, (statSync(join(directory, name)).mode & 0o777).toString(8)])
  expect(Object.fromEntries(modes)).toEqual({
    'postern.db': '600',
    'postern.db.blobs': '700',
    'postern.db-shm': '600',
    'postern.db-wal': '600',
    'postern.db.lock': '600',
    'postern.db.marker': '600',
  })
  expect((statSync(directory).mode & 0o777).toString(8)).toBe('700')
  await store.close()
})

test('openSqliteStore() removes others’ access to a file', async () => {
  const path = join(makeDirectory(), 'postern.db')
  writeFileSync(path, '', { mode: 0o644 })
  await (await openAt(path)).close()
  expect((statSync(path).mode & 0o777).toString(8)).toBe('600')
})

test('openSqliteStore() works in memory', async () => {
  const store = await openAt(':memory:', true)
  expect(await store.admit(sketchIntake('m1'), 'c')).toMatchObject({ outcome: 'accepted' })
  await store.close()
})

test('openSqliteStore() refuses a file that is no database, without changing it', async () => {
  const path = join(makeDirectory(), 'postern.db')
  writeFileSync(path, 'a letter to my aunt, long enough to be looked at as a header of a database file'.repeat(20))
  const opened = openAt(path, true)
  await expect(opened).rejects.toThrow(ConfigError)
  await expect(opened).rejects.toThrow(
    `data: "${path}" is no database (file is not a database). It must be a file of ours`,
  )
  await expect(openAt(path, true)).rejects.not.toThrow('another gateway')
})

test('migrateDatabase() does not change a current file', () => {
  const db = new DatabaseSync(':memory:')
  migrateDatabase(db)
  const version = () => db.prepare('PRAGMA schema_version').get()
  const before = version()
  migrateDatabase(db)
  expect(version()).toEqual(before)
  expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: schemaMigrations.length })
})

test('the store refuses a second gateway on the same data until the first one closes, and admits a reader', async () => {
  const path = join(makeDirectory(), 'postern.db')
  const first = await openAt(path, true)
  const second = openAt(path, true)
  await expect(second).rejects.toThrow(ConfigError)
  await expect(second).rejects.toThrow(`data: another gateway is running on "${path}". Stop the other one`)
  const reader = await openAt(path)
  expect(await reader.listMessages({ limit: 1 })).toEqual([])
  await Promise.all([reader.close(), first.close()])
  await (await openAt(path, true)).close()
})

test('a killed gateway releases its data, and the next one leases the same turn at once', async () => {
  const path = join(makeDirectory(), 'postern.db')
  const script = `
    import { openSqliteStore } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, '../index.ts')).href)}
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const store = await openSqliteStore({ channels: [], path: ${JSON.stringify(path)}, now: Date.now, log, exclusive: true })
    await store.admit(${JSON.stringify({ ...sketchIntake('m1'), raw: { bytes: [], form: 'text' } })}, 'c').catch(error => console.log(error))
    await store.leaseTurns(${JSON.stringify(leaseRequest)})
    console.log('leased')
    setInterval(() => {}, 1000)`.replace('"bytes":[]', '"bytes":new Uint8Array()')
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output] = await once(child.stdout, 'data')
  expect(String(output)).toBe('leased\n')
  await expect(openAt(path, true)).rejects.toThrow('another gateway')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const store = await openAt(path, true)
  expect(await store.leaseTurns(leaseRequest)).toMatchObject([{ attempt: 2, content: { id: 'm1' } }])
  await store.close()
})

test('two stores on one file accept a message once and create a secret once', async () => {
  const path = join(makeDirectory(), 'postern.db')
  const [one, two] = await Promise.all([openAt(path), openAt(path)])
  const admitted = await Promise.all([one, two, one, two].map(store => store.admit(sketchIntake('m1'), 'c')))
  expect(admitted.map(({ outcome }) => outcome).toSorted()).toEqual(['accepted', 'duplicate', 'duplicate', 'duplicate'])
  const secrets = await Promise.all(
    [one, two].map((store, index) => store.readOrCreateSecret('key', async () => `secret ${index}`)),
  )
  expect(new Set(secrets).size).toBe(1)
  const turns = await Promise.all([one, two].map(store => store.leaseTurns(leaseRequest)))
  expect(turns.flat()).toHaveLength(1)
  await Promise.all([one.close(), two.close()])
})

test('the store keeps the newest 10 000 refusals', async () => {
  const { store, advance } = await openStoreUnderTest()
  for (let second = 0; second < 210; second++) {
    for (let count = 0; count < 60; count++) {
      store.refuse({ at: `${second}`, via: 'a2a', from: 'x', code: 'unsigned', reason: 'Cannot verify' })
    }
    advance(1_000)
  }
  const kept = await store.listRefusals({ limit: 20_000 })
  expect(kept).toHaveLength(10_000)
  expect([kept[0]?.at, kept.at(-1)?.at]).toEqual(['209', '10'])
  expect((await store.count()).refusals).toBe(12_600)
  await store.close()
})

test('openSqliteStore() names the file that it cannot write', async () => {
  const file = join(makeDirectory(), 'a-file')
  writeFileSync(file, '')
  await expect(
    openSqliteStore({ channels: sketchedChannels, path: join(file, 'postern.db'), now: () => 0, log: discardLog }),
  ).rejects.toThrow(`data: "${join(file, 'postern.db')}" cannot be written. Name a directory of your own.`)
})

test('a transaction that changes 10 MB of pages writes none of them before its commit', () => {
  const path = join(makeDirectory(), 'postern.db')
  using db = openDatabase(path)
  db.exec('CREATE TABLE pages (bytes BLOB)')
  const readLogBytes = () => statSync(`${path}-wal`).size
  const bytesBefore = readLogBytes()
  db.exec('BEGIN IMMEDIATE')
  const insert = db.prepare('INSERT INTO pages (bytes) VALUES (zeroblob(1000000))')
  for (let megabytes = 0; megabytes < 10; megabytes += 1) insert.run()
  expect(readLogBytes()).toBe(bytesBefore)
  db.exec('COMMIT')
  expect(readLogBytes()).toBeGreaterThan(10_000_000)
})
