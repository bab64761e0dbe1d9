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

/** The comment on the table `store_version` that releases with numbered migrations set. Databases of version 1 have no comment. */
const tableComment = 'postern'

/**
 * Migrates a database to the newest tables in one transaction. Several gateways may start at the same time.
 * @throws ConfigError `store` if a newer release or an unknown program created the tables
 */
export async function migratePostgres(
  client: Client,
  settings: Pick<PostgresSettings, 'schema' | 'location'>,
  { steps, mayMigrate }: { readonly steps: readonly string[]; readonly mayMigrate: boolean },
): Promise<void> {
  const { schema } = settings
  // Steps on large tables may take long.
  await client.query('BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0')
  // Another gateway may be migrating, so the version is read only after this lock.
  await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`postern migration ${schema}`])
  const version = await readPostgresSchemaVersion(client, schema)
  if (version > 0) await refuseUnknownTables(client, settings, { version, steps })
  if (mayMigrate) await changeTables(client, schema, { version, steps })
  else refuseChanges(settings, { version, steps })
  await client.query('COMMIT')
}

/** The version of the tables of a database, and the migrations of this release. */
interface MigrationState {
  readonly version: number
  readonly steps: readonly string[]
}

/** Refuses a database whose tables would have to change. */
function refuseChanges(
  { schema, location }: Pick<PostgresSettings, 'schema' | 'location'>,
  { version, steps }: MigrationState,
): void {
  const name = `${location}, schema "${schema}"`
  refusePendingMigrations({ key: 'store', name, pendingChanges: describePendingMigrations(version, steps) })
  if (version > 0) return
  const fix = 'Start a gateway first, which makes them, or correct "store".'
  throw new ConfigError('store', `${name} has no tables of a gateway`, fix)
}

async function changeTables(client: Client, schema: string, { version, steps }: MigrationState): Promise<void> {
  if (version < steps.length) {
    // The lock waits for running writes of gateways of the earlier release. These gateways stop writing after this migration.
    await client.query('SELECT pg_advisory_xact_lock($1)', [writerLockOf(schema)])
    await client.query(listStatements(version, schema, steps).join(';\n'))
  } else {
    await replaceFunctions(client, schema)
  }
  const { rows } = await client.query<{ made: string | null }>("SELECT to_regclass('gateways') AS made")
  if (rows[0]?.made == null) await client.query(heartbeatTable)
}

/** Replaces the SQL functions that this release has changed. A change of a function needs no migration. */
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

/** Reads the version of the tables, which is the number of migrations that were applied. A new database has the version 0. */
export async function readPostgresSchemaVersion(client: Client, schema: string): Promise<number> {
  const { rows } = await client.query<{ tables: string; ours: string | null }>(
    `SELECT count(*) AS tables, max(tablename) FILTER (WHERE tablename = 'store_version') AS ours FROM pg_tables WHERE schemaname = $1`,
    [schema],
  )
  const { tables: tableCount = '0', ours: versionTable = null } = rows[0] ?? {}
  if (versionTable === null && Number(tableCount) > 0) {
    const problem = `the schema "${schema}" holds tables that are not ours`
    throw new ConfigError('store', problem, 'Name another with ?schema=….')
  }
  if (versionTable === null) return 0
  const versions = await client.query<{ version: number }>(`SELECT version FROM "${schema}".store_version`)
  return versions.rows[0]?.version ?? 0
}

async function refuseUnknownTables(
  client: Client,
  { schema, location }: Pick<PostgresSettings, 'schema' | 'location'>,
  { version, steps }: MigrationState,
): Promise<void> {
  const marks = await client.query<{ mark: string | null }>(
    "SELECT obj_description('store_version'::regclass, 'pg_class') AS mark",
  )
  const tables = await readTableNames(client, schema)
  const name = `${location}, schema "${schema}"`
  const isMarked = marks.rows[0]?.mark === tableComment
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

/** Lists the statements that migrate a database from this version to the newest. A new database has no rows to convert. */
export function listStatements(version: number, schema: string, steps = schemaMigrations): readonly string[] {
  const isFirst = version === 0
  const firstStatements = [
    `CREATE SCHEMA IF NOT EXISTS "${schema}"`,
    'CREATE TABLE store_version (version int NOT NULL)',
  ]
  const versionStatement = isFirst ? 'INSERT INTO store_version VALUES' : 'UPDATE store_version SET version ='
  return [
    ...(isFirst ? firstStatements : []),
    ...storeFunctions,
    ...steps.slice(version).flatMap(step => translateSchema(step, { isFirst })),
    `COMMENT ON TABLE store_version IS '${tableComment}'`,
    `${versionStatement} (${steps.length})`,
  ]
}
