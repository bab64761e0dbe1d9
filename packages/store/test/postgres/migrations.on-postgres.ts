import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ConfigError } from '@postern/core'
import { sketchedChannels } from '@postern/testing'
import { beforeAll, expect, test, vi } from 'vitest'
import { openPostgresStore } from '../../src/index.ts'
import { migrateDatabase, migrations } from '../../src/schema/migrate.ts'
import { fillFile } from '../fill-file.ts'
import type { StoredRow } from '../older-file.ts'
import { createOlderFile, listTables, readRows } from '../older-file.ts'
import { discardLog } from '../open-test-store.ts'
import { Randomness } from '../random-platform.ts'
import { createFindUnsound } from './find-unsound.ts'
import { createOlderSchema, readSchemaRows } from './older-schema.ts'
import { makeDatabase, schemaOf } from './open-postgres-test-store.ts'
import { askServer } from './test-server.ts'

/** What is brought along, with its rows. */
const oldestVersion = 13
const older = migrations.slice(oldestVersion).map((_, at) => oldestVersion + at)

let filled: DatabaseSync
let filledAt = 0

beforeAll(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'postern-store-'))
  const path = join(directory, 'postern.db')
  filledAt = await fillFile(path)
  filled = new DatabaseSync(path, { readOnly: true })
  return () => {
    filled.close()
    rmSync(directory, { recursive: true })
  }
})

/** As the release of that version left it: names that a later one wrote are not there yet. */
function openOlder(version: number): DatabaseSync {
  const file = createOlderFile(filled, version)
  if (version < 15) file.exec(`DELETE FROM transcript_names WHERE name LIKE '["normalized",%'`)
  return file
}

const open = (url: string) =>
  openPostgresStore({ channels: sketchedChannels, url, now: () => filledAt, log: discardLog })

async function fillOlder(version: number) {
  const file = openOlder(version)
  const url = makeDatabase()
  await createOlderSchema(file, schemaOf(url), version)
  migrateDatabase(file)
  return { file, url, schema: schemaOf(url) }
}

/** In one order, and bytes as text. */
function toComparable(rows: readonly StoredRow[]): readonly string[] {
  return rows
    .map(row => {
      const members = Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1))
      return JSON.stringify(members, (_, value) =>
        value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
      )
    })
    .toSorted()
}

async function expectSameRows(schema: string, file: DatabaseSync): Promise<void> {
  for (const table of listTables(file)) {
    expect(toComparable(await readSchemaRows(schema, table)), table).toEqual(toComparable(readRows(file, table)))
  }
}

test.each(older)(
  'a filled database at version %i has the same rows behind its migration as a file has, and goes on',
  async version => {
    const { file, url, schema } = await fillOlder(version)
    const store = await open(url)
    await expectSameRows(schema, file)
    const findUnsound = createFindUnsound(schema)
    expect(await findUnsound()).toEqual([])
    let time = filledAt
    const advance = (ms: number) => {
      time += ms
    }
    await store.close()
    const later = await openPostgresStore({ channels: sketchedChannels, url, now: () => time, log: discardLog })
    const platform = new Randomness({ store: later, now: () => time, advance }, 9)
    for (let step = 0; step < 30; step += 1) await platform.step()
    expect(await platform.finish()).toBe(true)
    expect(await findUnsound({ isDone: true })).toEqual([])
    await later.close()
  },
)

test('what the migrations write into rows is what a store of the newest release has written itself', () => {
  const file = openOlder(oldestVersion)
  migrateDatabase(file)
  for (const table of ['transcript_usage', 'transcript_threads', 'transcript_names']) {
    expect(toComparable(readRows(file, table)), table).toEqual(toComparable(readRows(filled, table)))
  }
  expect(readRows(file, 'threads').filter(({ begun_by }) => begun_by !== null).length).toBeGreaterThan(3)
  expect(readRows(file, 'transcript_usage').length).toBeGreaterThan(2)
})

test.each(older)('a database at version %i gets the tables that a new one has', async version => {
  const [{ url, schema }, fresh] = [await fillOlder(version), makeDatabase()]
  for (const each of [url, fresh]) await (await open(each)).close()
  expect(await describeTables(schema)).toEqual(await describeTables(schemaOf(fresh)))
})

async function describeTables(schema: string): Promise<readonly object[]> {
  const columns = await askServer(
    `SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
     WHERE table_schema = '${schema}' ORDER BY 1, 2`,
  )
  const indexes = await askServer<{ indexdef: string }>(
    `SELECT indexdef FROM pg_indexes WHERE schemaname = '${schema}' ORDER BY indexname`,
  )
  return [...columns, ...indexes.map(({ indexdef }) => ({ index: indexdef.replaceAll(schema, 'it') }))]
}

test('gateways that start at once on a filled database of an earlier version bring it to the newest once', async () => {
  const { file, url, schema } = await fillOlder(oldestVersion)
  const stores = await Promise.all([open(url), open(url), open(url)])
  await expectSameRows(schema, file)
  expect(await askServer('SELECT version FROM store_version', schema)).toEqual([{ version: migrations.length }])
  await Promise.all(stores.map(store => store.close()))
})

/** The last table a migration changes is in use; ends whoever waits for it. */
async function breakOffMigration(schema: string): Promise<void> {
  await askServer('BEGIN')
  await askServer(`LOCK TABLE ${schema}.task_bytes IN ACCESS SHARE MODE`)
  const waiting = `FROM pg_stat_activity WHERE application_name = 'postern ${schema}' AND wait_event_type = 'Lock'`
  await vi.waitUntil(
    async () => {
      // Within a transaction the server's state is otherwise told as it was at first.
      await askServer('SELECT pg_stat_clear_snapshot()')
      return (await askServer(`SELECT pg_terminate_backend(pid) ${waiting}`)).length > 0
    },
    { timeout: 20_000 },
  )
  await askServer('COMMIT')
}

test('a migration that is broken off leaves everything as it was, and is made up for at the next start', async () => {
  const { file, url, schema } = await fillOlder(oldestVersion)
  const breakingOff = breakOffMigration(schema)
  await expect(open(url)).rejects.toThrow(ConfigError)
  await breakingOff
  expect(await askServer('SELECT version FROM store_version', schema)).toEqual([{ version: oldestVersion }])
  expect(await askServer(`SELECT to_regclass('${schema}.transcript_usage') AS made`)).toEqual([{ made: null }])
  const store = await open(url)
  await expectSameRows(schema, file)
  await store.close()
})
