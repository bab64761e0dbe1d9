import { ConfigError } from '@postern/message'
import { sketchedChannels, sketchIntake } from '@postern/testing'
import { expect, test, vi } from 'vitest'
import { inspectPostgres, openPostgresStore } from '../../src/postgres/index.ts'
import { preparePostgres } from '../../src/postgres/prepare.ts'
import { schemaMigrations } from '../../src/schema/migrations.ts'
import { discardLog } from '../open-test-store.ts'
import { Randomness } from '../random-system.ts'
import { listFixtureNumbers, readPostgresFixture } from '../schema-fixture/fixtures.ts'
import { secondVersion } from '../second-version.ts'
import { createFindUnsound } from './find-unsound.ts'
import { makeDatabase, schemaOf } from './open-postgres-test-store.ts'
import { askServer } from './test-server.ts'

const withNext = [...schemaMigrations, secondVersion]
let time = Date.UTC(2026, 5, 1)

/** Loads a database as the program of its release left it. */
async function loadFixture(name: string) {
  const url = makeDatabase()
  await askServer(readPostgresFixture(name, schemaOf(url)))
  return { url, schema: schemaOf(url) }
}

const open = (url: string) => openPostgresStore({ channels: sketchedChannels, url, now: () => time, log: discardLog })
const migrate = (url: string, steps: readonly string[] = withNext) =>
  preparePostgres(url, { now: () => time, log: discardLog, steps })

/** Creates a database of the first version with many rows. */
async function makeFilled() {
  const url = makeDatabase()
  const store = await open(url)
  const advance = (ms: number) => {
    time += ms
  }
  const system = new Randomness({ store, now: () => time, advance }, 9)
  for (let step = 0; step < 40; step += 1) await system.step()
  await store.close()
  return { url, schema: schemaOf(url) }
}

const readVersion = (schema: string) => askServer('SELECT version FROM store_version', schema)
const readThreads = (schema: string) =>
  askServer('SELECT id, agent, channel, scope, key FROM threads ORDER BY id', schema)

async function describeTables(schema: string): Promise<readonly object[]> {
  const columns = await askServer(
    `SELECT table_name, column_name, data_type, is_nullable, replace(column_default, '${schema}.', '') AS column_default FROM information_schema.columns
     WHERE table_schema = '${schema}' ORDER BY 1, 2`,
  )
  const indexes = await askServer<{ indexdef: string }>(
    `SELECT indexdef FROM pg_indexes WHERE schemaname = '${schema}' ORDER BY indexname`,
  )
  const triggers = await askServer(
    `SELECT trigger_name, event_manipulation, event_object_table, action_condition FROM information_schema.triggers
     WHERE trigger_schema = '${schema}' ORDER BY 1, 2`,
  )
  return [...columns, ...triggers, ...indexes.map(({ indexdef }) => ({ index: indexdef.replaceAll(schema, 'it') }))]
}

test('a filled database of the previous version keeps its rows, which the step changes as documented', async () => {
  const { url, schema } = await makeFilled()
  const before = await readThreads(schema)
  expect(before.length).toBeGreaterThan(3)
  await migrate(url)
  expect(await readVersion(schema)).toEqual([{ version: withNext.length }])
  expect(await readThreads(schema)).toEqual(before)
  const wrong = "SELECT id FROM threads WHERE title IS DISTINCT FROM ascii_lower(channel || ' ' || key)"
  expect(await askServer(wrong, schema)).toEqual([])
  await askServer("INSERT INTO threads (agent, channel, scope, key) VALUES ('echo', 'a2a', 'public', 'later')", schema)
  const counted = 'SELECT channel, count(*) AS threads FROM threads GROUP BY channel ORDER BY channel'
  expect(await askServer('SELECT channel, threads FROM channel_totals ORDER BY channel', schema)).toEqual(
    await askServer(counted, schema),
  )
  expect(await createFindUnsound(schema)()).toEqual([expect.stringContaining('threads have their key')])
})

test.each(listFixtureNumbers())(
  'a database of version %i opens, keeps its conversations and continues',
  async number => {
    time = Date.UTC(2026, 5, 9)
    const { url, schema } = await loadFixture(String(number))
    const store = await open(url)
    expect(await store.findMessage('known-1')).toMatchObject({ response: { parts: [{ content: 'a known answer' }] } })
    const later = sketchIntake('known-3', { message: { thread_source: 'known' } })
    expect(await store.admit(later, 'c')).toMatchObject({ outcome: 'accepted' })
    await store.close()
    expect(await createFindUnsound(schema)()).toEqual([])
    const fresh = makeDatabase()
    await migrate(fresh, schemaMigrations)
    expect(await describeTables(schema)).toEqual(await describeTables(schemaOf(fresh)))
  },
)

test('openPostgresStore() refuses a known version with other tables, and names the database, the difference and a fix', async () => {
  const { url, schema } = await loadFixture('unreleased')
  const opened = expect(open(url)).rejects
  await opened.toThrow(`schema "${schema}" was written by a program that was never released (its table "`)
})

test('an upgraded database has the same tables as a new one', async () => {
  const [{ url, schema }, fresh] = [await makeFilled(), makeDatabase()]
  for (const each of [url, fresh]) await migrate(each)
  expect(await describeTables(schema)).toEqual(await describeTables(schemaOf(fresh)))
})

test('openPostgresStore() refuses the database of a newer release with a fix', async () => {
  const { url, schema } = await makeFilled()
  await migrate(url)
  const opened = expect(open(url)).rejects
  await opened.toThrow(`schema "${schema}" was written by a newer release (its tables have number ${withNext.length}`)
  expect(await readVersion(schema)).toEqual([{ version: withNext.length }])
})

test('gateways that start together migrate a filled database to the newest version once', async () => {
  const { url, schema } = await makeFilled()
  const before = await readThreads(schema)
  await Promise.all([migrate(url), migrate(url), migrate(url)])
  expect(await readThreads(schema)).toEqual(before)
  expect(await readVersion(schema)).toEqual([{ version: withNext.length }])
})

/** Ends a migration that waits for a table in use. */
async function breakOffMigration(schema: string): Promise<void> {
  await askServer('BEGIN')
  await askServer(`LOCK TABLE ${schema}.threads IN ACCESS SHARE MODE`)
  const waiting = `FROM pg_stat_activity WHERE application_name = 'postern ${schema}' AND wait_event_type = 'Lock'`
  await vi.waitUntil(
    async () => {
      // Otherwise a transaction sees the state of the server as it was at its beginning.
      await askServer('SELECT pg_stat_clear_snapshot()')
      return (await askServer(`SELECT pg_terminate_backend(pid) ${waiting}`)).length > 0
    },
    { timeout: 20_000 },
  )
  await askServer('COMMIT')
}

test('the next start repeats an interrupted migration, which changed nothing', async () => {
  const { url, schema } = await makeFilled()
  const before = await readThreads(schema)
  const early = [...schemaMigrations, `CREATE TABLE early (id INTEGER PRIMARY KEY) STRICT;${secondVersion}`]
  const breakingOff = breakOffMigration(schema)
  await expect(migrate(url, early)).rejects.toThrow(ConfigError)
  await breakingOff
  expect(await readVersion(schema)).toEqual([{ version: schemaMigrations.length }])
  expect(await askServer(`SELECT to_regclass('${schema}.early') AS made`)).toEqual([{ made: null }])
  await migrate(url, early)
  expect(await readVersion(schema)).toEqual([{ version: withNext.length }])
  expect(await readThreads(schema)).toEqual(before)
})

test('a store that may not change tables refuses a database of an earlier release without changing it', async () => {
  const { url, schema } = await loadFixture('1')
  const before = await describeTables(schema)
  const options = { channels: sketchedChannels, url, now: () => time, log: discardLog, mayMigrate: false }
  await expect(openPostgresStore(options)).rejects.toThrow('is of an earlier release: its tables have number 1')
  expect((await inspectPostgres(url, () => time)).pendingSteps).toContain('number 1')
  expect(await describeTables(schema)).toEqual(before)
  expect(await readVersion(schema)).toEqual([{ version: 1 }])
  await (await open(url)).close()
  expect((await inspectPostgres(url, () => time)).pendingSteps).toBeUndefined()
  await (await openPostgresStore(options)).close()
})
