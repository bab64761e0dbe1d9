import type { Log } from '@postern/core'
import { ConfigError } from '@postern/core'
import type { Client } from 'pg'
import { migrations } from '../schema/migrate.ts'
import { toConfigError } from './connection/store-errors.ts'
import { heartbeatTable } from './connection/upkeep/heartbeat.ts'
import { toClientConfig } from './server/address.ts'
import { formatSetUp, writerLockOf } from './server/session.ts'
import type { PostgresSettings } from './server/settings.ts'
import { readPostgresUrl } from './server/settings.ts'
import { storeFunctions } from './sql/functions.ts'
import { translateSchema } from './sql/translate-schema.ts'

const oldestServer = 130_000
/** Leases are given by one gateway's clock and end by another's. */
export const mostSkewMs = 2_000

interface Surroundings {
  readonly now: () => number
  readonly log: Log
  /** As `migrations` has them. */
  readonly steps?: readonly string[] | undefined
}

interface Standing {
  readonly version: number
  readonly encoding: string
  readonly is_standby: boolean
  readonly at: number
}

/**
 * Brings a database to the newest schema, all steps or none; several gateways may start at once.
 * @throws ConfigError `store` that says what is wrong with it
 */
export async function preparePostgres(url: string, { now, log, steps = migrations }: Surroundings): Promise<void> {
  const settings = readPostgresUrl(url)
  try {
    await withClient(settings, async client => {
      const standing = await checkServer(client)
      const skew = Math.round(Math.abs(standing.at - now()))
      if (skew > mostSkewMs) log.warn({ skew_ms: skew }, "the database server's clock differs from this machine's")
      await client.query(formatSetUp(settings.schema))
      await migrate(client, settings.schema, steps)
    })
  } catch (error) {
    throw toConfigError(error, settings.place)
  }
}

/** What an operator may want to know of a database that is good enough. */
export interface PostgresStanding {
  /** As `15`. */
  readonly version: number
  /** Host, port and database. */
  readonly place: string
  /** How far its clock is from ours, ms. */
  readonly skewMs: number
  /** What is said to it can be read on its way. */
  readonly isExposed: boolean
  /** Of a statement that reads nothing, the fastest of a few: what the line takes, and no other load; ms. */
  readonly roundTripMs: number
  /** Our user may make the tables there, and change them at the next release. */
  readonly mayCreate: boolean
  /** Where our tables are, or will be. */
  readonly schema: string
  /** Gateways that take up turns and deliveries now. */
  readonly workers: number
}

/** Looks at a database and changes nothing. @throws ConfigError `store` */
export async function inspectPostgres(url: string, now: () => number): Promise<PostgresStanding> {
  const settings = readPostgresUrl(url)
  const { place, server, schema } = settings
  const isNear = server.host.startsWith('/') || /^(localhost|127\..*|::1)$/.test(server.host)
  try {
    return await withClient(settings, async client => {
      const { version, at } = await checkServer(client)
      const isExposed = !isNear && server.tls.mode === 'disable'
      const skewMs = Math.round(Math.abs(at - now()))
      const mayCreate = await readRights(client, schema)
      const roundTripMs = await measureRoundTrip(client)
      const workers = await countWorkers(client, schema)
      return {
        version: Math.floor(version / 10_000),
        place,
        skewMs,
        isExposed,
        roundTripMs,
        mayCreate,
        schema,
        workers,
      }
    })
  } catch (error) {
    throw toConfigError(error, place)
  }
}

/** A schema that is not there yet is made in the database. */
async function readRights(client: Client, schema: string): Promise<boolean> {
  const { rows } = await client.query<{ may: boolean }>(
    `SELECT CASE WHEN to_regnamespace($1) IS NULL THEN has_database_privilege(current_database(), 'CREATE')
       ELSE has_schema_privilege($1, 'CREATE') AND has_schema_privilege($1, 'USAGE') END AS may`,
    [schema],
  )
  return rows[0]?.may === true
}

/** In a database that has our tables. */
async function countWorkers(client: Client, schema: string): Promise<number> {
  const table = `"${schema}".gateways`
  const { rows } = await client.query<{ found: string | null }>('SELECT to_regclass($1) AS found', [table])
  if (rows[0]?.found == null) return 0
  const held = await client.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM ${table} WHERE NOT pg_try_advisory_xact_lock(lock)`,
  )
  return held.rows[0]?.count ?? 0
}

async function measureRoundTrip(client: Client): Promise<number> {
  const times: number[] = []
  for (let count = 0; count < 10; count += 1) {
    const begun = performance.now()
    await client.query('SELECT 1')
    times.push(performance.now() - begun)
  }
  return Math.min(...times)
}

async function withClient<T>(settings: PostgresSettings, work: (client: Client) => Promise<T>): Promise<T> {
  const { default: pg } = await import('pg')
  const client = new pg.Client(toClientConfig(settings.server))
  // A connection that breaks makes the statement fail that it was for.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function checkServer(client: Client): Promise<Standing> {
  const { rows } = await client.query<Standing>(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding,
       pg_is_in_recovery() AS is_standby, extract(epoch FROM clock_timestamp())::float8 * 1000 AS at`,
  )
  const [standing] = rows
  if (!standing) throw new Error('the server tells nothing of itself')
  const { version, encoding, is_standby } = standing
  if (version < oldestServer)
    throw refuse(`the server is PostgreSQL ${Math.floor(version / 10_000)}`, 'Use 13 or later.')
  if (encoding !== 'UTF8')
    throw refuse(`the database is kept as ${encoding}`, 'Make one with ENCODING UTF8 TEMPLATE template0.')
  if (is_standby) throw refuse('the server is a standby, which takes no writes', 'Name the primary.')
  return standing
}

function refuse(problem: string, fix: string): ConfigError {
  return new ConfigError('store', problem, fix)
}

async function migrate(client: Client, schema: string, steps: readonly string[]): Promise<void> {
  // Large tables take their time.
  await client.query('BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0')
  // Another gateway may be at it: what counts is seen behind this lock.
  await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`postern migration ${schema}`])
  const version = await readSchemaVersion(client, schema)
  if (version > steps.length) throw refuse('was written by a newer release', 'Start that release or a later one.')
  if (version < steps.length) {
    // Behind whatever gateways of the release before are writing now; they will write nothing more.
    await client.query('SELECT pg_advisory_xact_lock($1)', [writerLockOf(schema)])
    await client.query(listStatements(version, schema, steps).join(';\n'))
  }
  const { rows } = await client.query<{ made: string | null }>("SELECT to_regclass('gateways') AS made")
  if (rows[0]?.made == null) await client.query(heartbeatTable)
  await client.query('COMMIT')
}

async function readSchemaVersion(client: Client, schema: string): Promise<number> {
  const { rows } = await client.query<{ tables: string; ours: string | null }>(
    `SELECT count(*) AS tables, max(tablename) FILTER (WHERE tablename = 'store_version') AS ours FROM pg_tables WHERE schemaname = $1`,
    [schema],
  )
  const { tables = '0', ours = null } = rows[0] ?? {}
  if (ours === null && Number(tables) > 0) {
    throw refuse(`the schema "${schema}" holds tables that are not ours`, 'Name another with ?schema=….')
  }
  if (ours === null) return 0
  const versions = await client.query<{ version: number }>('SELECT version FROM store_version')
  return versions.rows[0]?.version ?? 0
}

/** What brings a database from one version to another. A new one has no rows to bring along. */
export function listStatements(version: number, schema: string, steps = migrations): readonly string[] {
  const isFirst = version === 0
  const begin = [`CREATE SCHEMA IF NOT EXISTS "${schema}"`, 'CREATE TABLE store_version (version int NOT NULL)']
  const end = isFirst ? 'INSERT INTO store_version VALUES' : 'UPDATE store_version SET version ='
  return [
    ...(isFirst ? begin : []),
    ...storeFunctions,
    ...steps.slice(version).flatMap(step => translateSchema(step, { isFirst })),
    `${end} (${steps.length})`,
  ]
}
