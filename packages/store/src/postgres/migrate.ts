// Migrates a database to the newest tables at the start of a gateway.
import { ConfigError } from '@postern/message'
import type { Client } from 'pg'
import type { TableNames } from '../schema/expected-tables.ts'
import { collectTableNames } from '../schema/expected-tables.ts'
import { refuseUnknownSchema } from '../schema/known-schema.ts'
import { schemaMigrations } from '../schema/migrations.ts'
import { describePendingMigrations, refusePendingMigrations } from '../schema/pending-migrations.ts'
import { heartbeatTable } from './connection/upkeep/heartbeat.ts'
import { writerLockOf } from './server/session.ts'
import type { PostgresSettings } from './server/settings.ts'
import { storeFunctions } from './sql/functions.ts'
import { translateSchema } from './sql/translate-schema.ts'

/** The comment on `store_version` by programs with numbered steps. Databases of number 1 have none. */
const tableMark = 'postern'

/**
 * Migrates a database to the newest tables, by all steps or none. Several gateways may start at once.
 * @throws ConfigError `store` if a newer release wrote it, or a program with unknown tables
 */
export async function migratePostgres(
  client: Client,
  settings: Pick<PostgresSettings, 'schema' | 'location'>,
  { steps, changesTables }: { readonly steps: readonly string[]; readonly changesTables: boolean },
): Promise<void> {
  const { schema, location } = settings
  // Steps on large tables may take long.
  await client.query('BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0')
  // Another gateway may be migrating, so the number is read only after this lock.
  await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`postern migration ${schema}`])
  const number = await readPostgresNumber(client, schema)
  if (number > 0) await refuseUnknownTables(client, settings, { number, steps })
  const pendingSteps = changesTables ? undefined : describePendingMigrations(number, steps)
  refusePendingMigrations({ key: 'store', name: `${location}, schema "${schema}"`, pending: pendingSteps })
  if (!changesTables && number === 0) {
    const fix = 'Start a gateway first, which makes them, or correct "store".'
    throw new ConfigError('store', `${location}, schema "${schema}" has no tables of a gateway`, fix)
  }
  if (number < steps.length) {
    // The lock waits for running writes of gateways of the earlier release. These gateways then write nothing more.
    await client.query('SELECT pg_advisory_xact_lock($1)', [writerLockOf(schema)])
    await client.query(listStatements(number, schema, steps).join(';\n'))
  } else if (changesTables) {
    await replaceFunctions(client, schema)
  }
  if (!changesTables) return void (await client.query('COMMIT'))
  const { rows } = await client.query<{ made: string | null }>("SELECT to_regclass('gateways') AS made")
  if (rows[0]?.made == null) await client.query(heartbeatTable)
  await client.query('COMMIT')
}

/** Replaces functions that this release has changed. Functions need no step. */
async function replaceFunctions(client: Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ name: string; body: string }>(
    'SELECT proname AS name, prosrc AS body FROM pg_proc JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname = $1',
    [schema],
  )
  const bodies = new Map(rows.map(({ name, body }) => [name, body]))
  const changedFunctions = storeFunctions.filter(sql => {
    const [, name = '', body] = /FUNCTION (\w+)\([\s\S]*?\$\$([\s\S]*)\$\$/.exec(sql) ?? []
    return bodies.get(name) !== body
  })
  if (changedFunctions.length > 0) await client.query(changedFunctions.join(';\n'))
}

/** Returns the number of steps that a database has had; 0 for a new one. */
export async function readPostgresNumber(client: Client, schema: string): Promise<number> {
  const { rows } = await client.query<{ tables: string; ours: string | null }>(
    `SELECT count(*) AS tables, max(tablename) FILTER (WHERE tablename = 'store_version') AS ours FROM pg_tables WHERE schemaname = $1`,
    [schema],
  )
  const { tables = '0', ours = null } = rows[0] ?? {}
  if (ours === null && Number(tables) > 0) {
    const problem = `the schema "${schema}" holds tables that are not ours`
    throw new ConfigError('store', problem, 'Name another with ?schema=….')
  }
  if (ours === null) return 0
  const versions = await client.query<{ version: number }>(`SELECT version FROM "${schema}".store_version`)
  return versions.rows[0]?.version ?? 0
}

async function refuseUnknownTables(
  client: Client,
  { schema, location }: Pick<PostgresSettings, 'schema' | 'location'>,
  { number: version, steps }: { readonly number: number; readonly steps: readonly string[] },
): Promise<void> {
  const marks = await client.query<{ mark: string | null }>(
    "SELECT obj_description('store_version'::regclass, 'pg_class') AS mark",
  )
  const tables = await readTableNames(client, schema)
  const name = `${location}, schema "${schema}"`
  const isMarked = marks.rows[0]?.mark === tableMark
  refuseUnknownSchema({ key: 'store', name, version, isMarked, readTables: () => tables }, steps)
}

async function readTableNames(client: Client, schema: string): Promise<TableNames> {
  const columns = await client.query<{ owner: string; name: string }>(
    `SELECT c.relname AS owner, a.attname AS name FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped`,
    [`"${schema}"`],
  )
  const triggers = await client.query<{ name: string }>(
    `SELECT t.tgname AS name FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     WHERE c.relnamespace = $1::regnamespace AND NOT t.tgisinternal`,
    [`"${schema}"`],
  )
  return collectTableNames(columns.rows, triggers.rows)
}

/** Returns the statements that migrate a database from one number to another. A new database has no rows to convert. */
export function listStatements(number: number, schema: string, steps = schemaMigrations): readonly string[] {
  const isFirst = number === 0
  const begin = [`CREATE SCHEMA IF NOT EXISTS "${schema}"`, 'CREATE TABLE store_version (version int NOT NULL)']
  const end = isFirst ? 'INSERT INTO store_version VALUES' : 'UPDATE store_version SET version ='
  return [
    ...(isFirst ? begin : []),
    ...storeFunctions,
    ...steps.slice(number).flatMap(step => translateSchema(step, { isFirst })),
    `COMMENT ON TABLE store_version IS '${tableMark}'`,
    `${end} (${steps.length})`,
  ]
}
