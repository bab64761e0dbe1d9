import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sketchedChannels } from '@postern/testing'
import { expect, test } from 'vitest'
import { discardLog, makeDirectory } from '../../test/open-test-store.ts'
import { writeFixture } from '../../test/schema-fixture/fixtures.ts'
import { findPendingMigrations, openSqliteStore } from '../index.ts'
import { schemaMigrations } from './migrations.ts'
import { describePendingMigrations } from './pending-migrations.ts'

test('describePendingMigrations() names the tables and columns that a start would add', () => {
  const steps = [
    'CREATE TABLE one (a TEXT)',
    'ALTER TABLE one ADD COLUMN b TEXT; CREATE TABLE two (c TEXT)',
    "UPDATE one SET a = ''",
  ]
  expect(describePendingMigrations(1, steps)).toBe(
    'its tables have number 1, and a start of this release makes it 3 (adds "one.b" and the table "two")',
  )
  expect(describePendingMigrations(2, steps)).toContain('(rewrites rows)')
  expect([0, 3].map(number => describePendingMigrations(number, steps))).toEqual([undefined, undefined])
})

test('a store that may not change tables refuses a file of an earlier release without changing it', async () => {
  const path = writeFixture('1', join(makeDirectory(), 'postern.db'))
  const before = readFileSync(path)
  const options = { channels: sketchedChannels, path, now: () => 0, log: discardLog }
  await expect(openSqliteStore({ ...options, mayMigrate: false })).rejects.toThrow(
    `data: "${path}" is of an earlier release: its tables have number 1, and a start of this release makes it ${schemaMigrations.length} (adds `,
  )
  await expect(openSqliteStore({ ...options, mayMigrate: false })).rejects.toThrow('Back the data up, then start')
  expect(findPendingMigrations(path)).toContain('number 1')
  expect(readFileSync(path).equals(before)).toBe(true)
  await (await openSqliteStore(options)).close()
  expect(findPendingMigrations(path)).toBeUndefined()
  await (await openSqliteStore({ ...options, mayMigrate: false })).close()
})
