import { ConfigError } from '@postern/core'
import { sketchedChannels } from '@postern/testing'
import { expect, test, vi } from 'vitest'
import { openPostgresStore } from '../../src/postgres/index.ts'
import { preparePostgres } from '../../src/postgres/prepare.ts'
import { migrations } from '../../src/schema/migrate.ts'
import { discardLog } from '../open-test-store.ts'
import { Randomness } from '../random-platform.ts'
import { secondVersion } from '../second-version.ts'
import { createFindUnsound } from './find-unsound.ts'
import { makeDatabase, schemaOf } from './open-postgres-test-store.ts'
import { askServer } from './test-server.ts'

const twoVersions = [...migrations, secondVersion]
let time = Date.UTC(2026, 5, 1)

const open = (url: string) => openPostgresStore({ channels: sketchedChannels, url, now: () => time, log: discardLog })
const migrate = (url: string, steps = twoVersions) => preparePostgres(url, { now: () => time, log: discardLog, steps })

/** A database of the first version, in which much has happened. */
async function makeFilled() {
  const url = makeDatabase()
  const store = await open(url)
  const advance = (ms: number) => {
    time += ms
  }
  const platform = new Randomness({ store, now: () => time, advance }, 9)
  for (let step = 0; step < 40; step += 1) await platform.step()
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

test('a filled database of the version before keeps its rows, and the step changes them as it says', async () => {
  const { url, schema } = await makeFilled()
  const before = await readThreads(schema)
  expect(before.length).toBeGreaterThan(3)
  await migrate(url)
  expect(await readVersion(schema)).toEqual([{ version: 2 }])
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

test('an upgraded database has the same tables as a new one', async () => {
  const [{ url, schema }, fresh] = [await makeFilled(), makeDatabase()]
  for (const each of [url, fresh]) await migrate(each)
  expect(await describeTables(schema)).toEqual(await describeTables(schemaOf(fresh)))
})

test('openPostgresStore() refuses the database of a newer release, and says what to do', async () => {
  const { url, schema } = await makeFilled()
  await migrate(url)
  await expect(open(url)).rejects.toThrow('store: was written by a newer release. Start that release or a later one.')
  expect(await readVersion(schema)).toEqual([{ version: 2 }])
})

test('gateways that start at once on a filled database of an earlier version bring it to the newest once', async () => {
  const { url, schema } = await makeFilled()
  const before = await readThreads(schema)
  await Promise.all([migrate(url), migrate(url), migrate(url)])
  expect(await readThreads(schema)).toEqual(before)
  expect(await readVersion(schema)).toEqual([{ version: 2 }])
})

/** A table that the migration changes is in use; ends whoever waits for it. */
async function breakOffMigration(schema: string): Promise<void> {
  await askServer('BEGIN')
  await askServer(`LOCK TABLE ${schema}.threads IN ACCESS SHARE MODE`)
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

test('an interrupted migration leaves everything as it was, and the next start repeats it', async () => {
  const { url, schema } = await makeFilled()
  const before = await readThreads(schema)
  const early = [...migrations, `CREATE TABLE early (id INTEGER PRIMARY KEY) STRICT;${secondVersion}`]
  const breakingOff = breakOffMigration(schema)
  await expect(migrate(url, early)).rejects.toThrow(ConfigError)
  await breakingOff
  expect(await readVersion(schema)).toEqual([{ version: 1 }])
  expect(await askServer(`SELECT to_regclass('${schema}.early') AS made`)).toEqual([{ made: null }])
  await migrate(url, early)
  expect(await readVersion(schema)).toEqual([{ version: 2 }])
  expect(await readThreads(schema)).toEqual(before)
})
