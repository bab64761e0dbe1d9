// Prepares a PostgreSQL database at the start of a gateway.
import type { Log } from '@postern/message'
import { ConfigError } from '@postern/message'
import type { Client } from 'pg'
import { createHandledSecret, handledSecretName } from '../peers/handled-keys.ts'
import { schemaMigrations } from '../schema/migrations.ts'
import { describePendingMigrations } from '../schema/pending-migrations.ts'
import { toConfigError } from './connection/store-errors.ts'
import type { ClockReading } from './connection/upkeep/server-clock.ts'
import { completeReading } from './connection/upkeep/server-clock.ts'
import { migratePostgres, readPostgresSchemaVersion } from './migrate.ts'
import { toClientConfig } from './server/address.ts'
import { formatSetUp } from './server/session.ts'
import type { PostgresSettings } from './server/settings.ts'
import { readPostgresUrl } from './server/settings.ts'

const minServerVersion = 130_000
/** The maximum difference of the clocks, ms. Leases end by the server's clock, but other times of the gateway come from its machine. */
export const maxSkewMs = 2_000

interface PrepareOptions {
  readonly now: () => number
  readonly log: Log
  /** The migrations. The default is `schemaMigrations`. */
  readonly steps?: readonly string[] | undefined
  /** If false, a database of an earlier release is refused and stays unchanged. */
  readonly mayMigrate?: boolean | undefined
}

interface ServerFacts {
  readonly version: number
  readonly encoding: string
  readonly is_standby: boolean
  readonly at: number
}

/** The data of a database that the store needs when it is opened. */
interface PreparedDatabase {
  /** The key of the digests of deleted messages. */
  readonly handledSecret: string
  readonly clock: ClockReading
}

/**
 * Checks the server and migrates the database to the newest schema in one transaction. Several gateways may start at the same time.
 * @throws ConfigError `store`
 */
export async function preparePostgres(
  url: string,
  { now, log, steps = schemaMigrations, mayMigrate = true }: PrepareOptions,
): Promise<PreparedDatabase> {
  const settings = readPostgresUrl(url)
  try {
    return await withClient(settings, async client => {
      const sentAt = performance.now()
      const { at } = await checkServer(client)
      const clock = completeReading(at, sentAt)
      const skew = Math.round(Math.abs(at - now()))
      if (skew > maxSkewMs) log.warn({ skew_ms: skew }, "the database server's clock differs from this machine's")
      await client.query(formatSetUp(settings.schema))
      await migratePostgres(client, settings, { steps, mayMigrate })
      return { handledSecret: await decideHandledSecret(client, mayMigrate), clock }
    })
  } catch (error) {
    throw toConfigError(error, settings.location)
  }
}

/** Reads or stores the key like `openHandledSecret`. If several gateways start at the same time, the key of the first one is stored. */
async function decideHandledSecret(client: Client, isWritable: boolean): Promise<string> {
  const newSecret = createHandledSecret()
  if (isWritable) {
    await client.query('INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
      handledSecretName,
      newSecret,
    ])
  }
  const { rows } = await client.query<{ value: string }>('SELECT value FROM secrets WHERE name = $1', [
    handledSecretName,
  ])
  return rows[0]?.value ?? newSecret
}

/** The facts about a database that an operator may want to know. */
export interface PostgresStanding {
  /** The major version of the server, such as `15`. */
  readonly version: number
  /** Host, port and database. */
  readonly location: string
  /** The difference between the clocks of the server and of this machine, ms. */
  readonly skewMs: number
  /** True if others on the network path can read the traffic of the database. */
  readonly isExposed: boolean
  /** The shortest duration of several statements that read no table, ms. It measures the network and no other load. */
  readonly roundTripMs: number
  /** True if the user of the gateway may create tables there, and change them at the next release. */
  readonly mayCreate: boolean
  /** The schema of the tables, even if they do not exist yet. */
  readonly schema: string
  /** The number of gateways that lease turns and deliveries now. */
  readonly workers: number
  /** The changes to the tables that a start would make. Undefined if there are none. */
  readonly pendingSteps: string | undefined
}

/** Inspects a database and changes nothing. @throws ConfigError `store` */
export async function inspectPostgres(url: string, now: () => number): Promise<PostgresStanding> {
  const settings = readPostgresUrl(url)
  const { location, server, schema } = settings
  const isLocal = server.host.startsWith('/') || /^(localhost|127\..*|::1)$/.test(server.host)
  try {
    return await withClient(settings, async client => {
      const { version, at } = await checkServer(client)
      const isExposed = !isLocal && server.tls.mode === 'disable'
      const skewMs = Math.round(Math.abs(at - now()))
      const mayCreate = await readRights(client, schema)
      const roundTripMs = await measureRoundTrip(client)
      const workers = await countWorkers(client, schema)
      const pendingSteps = describePendingMigrations(await readPostgresSchemaVersion(client, schema))
      return {
        pendingSteps,
        version: Math.floor(version / 10_000),
        location,
        skewMs,
        isExposed,
        roundTripMs,
        mayCreate,
        schema,
        workers,
      }
    })
  } catch (error) {
    throw toConfigError(error, location)
  }
}

/** Returns true if the user of the gateway may create tables in the schema, or may create the schema if it does not exist yet. */
async function readRights(client: Client, schema: string): Promise<boolean> {
  const { rows } = await client.query<{ may: boolean }>(
    `SELECT CASE WHEN to_regnamespace($1) IS NULL THEN has_database_privilege(current_database(), 'CREATE')
       ELSE has_schema_privilege($1, 'CREATE') AND has_schema_privilege($1, 'USAGE') END AS may`,
    [schema],
  )
  return rows[0]?.may === true
}

/** Counts the gateways that work at a database. Returns 0 if the database lacks the table of gateways. */
async function countWorkers(client: Client, schema: string): Promise<number> {
  const table = `"${schema}".gateways`
  const { rows } = await client.query<{ found: string | null }>('SELECT to_regclass($1) AS found', [table])
  if (rows[0]?.found == null) return 0
  const runningGateways = await client.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM ${table} WHERE NOT pg_try_advisory_xact_lock(lock)`,
  )
  return runningGateways.rows[0]?.count ?? 0
}

async function measureRoundTrip(client: Client): Promise<number> {
  const roundTripsMs: number[] = []
  for (let count = 0; count < 10; count += 1) {
    const startedAt = performance.now()
    await client.query('SELECT 1')
    roundTripsMs.push(performance.now() - startedAt)
  }
  return Math.min(...roundTripsMs)
}

async function withClient<T>(settings: PostgresSettings, work: (client: Client) => Promise<T>): Promise<T> {
  const { default: pg } = await import('pg')
  const client = new pg.Client(toClientConfig(settings.server))
  // The running statement reports a lost connection.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function checkServer(client: Client): Promise<ServerFacts> {
  const { rows } = await client.query<ServerFacts>(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding,
       pg_is_in_recovery() AS is_standby, extract(epoch FROM clock_timestamp())::float8 * 1000 AS at`,
  )
  const [serverFacts] = rows
  if (!serverFacts) throw new Error('the server tells nothing of itself')
  const { version, encoding, is_standby } = serverFacts
  if (version < minServerVersion)
    throw createStoreError(`the server is PostgreSQL ${Math.floor(version / 10_000)}`, 'Use 13 or later.')
  if (encoding !== 'UTF8')
    throw createStoreError(`the database is kept as ${encoding}`, 'Make one with ENCODING UTF8 TEMPLATE template0.')
  if (is_standby) throw createStoreError('the server is a standby, which takes no writes', 'Name the primary.')
  return serverFacts
}

function createStoreError(problem: string, fix: string): ConfigError {
  return new ConfigError('store', problem, fix)
}
