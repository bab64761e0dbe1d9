// Formats the settings of a PostgreSQL session.
import { lockNumberOf } from './lock-number.ts'

/** Formats the statements that each connection of a gateway runs first. */
export function formatSetUp(schema: string): string {
  const parameters = { application_name: `'postern ${schema}'`, search_path: `"${schema}"` }
  return Object.entries({ ...sessionSettings, ...parameters })
    .map(([name, value]) => `SET ${name} = ${value}`)
    .join('; ')
}

const sessionSettings: Readonly<Record<string, string>> = {
  client_encoding: "'UTF8'",
  // A gateway that hangs must not block other gateways.
  idle_in_transaction_session_timeout: "'5s'",
  lock_timeout: "'20s'",
  statement_timeout: "'60s'",
  // Every statement of the store has an index. A small table may grow at any time, and the statistics of the server show this only later.
  enable_seqscan: 'off',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
  // The server releases the locks of a machine that has disappeared. The setting has no effect on a Unix socket, which needs none.
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  // The server also releases the locks of a machine that runs but does not receive its results.
  tcp_user_timeout: "'15s'",
}

/** The limits for the long queries of operators. They fail early, so that only few of them wait for a lock at a time. */
export const operatorLimits = "SET statement_timeout = '10s'; SET lock_timeout = '10s'"

/** The number of shards. Further connections share a shard. A gateway has four connections that write. */
const maxShards = 256

/**
 * Formats the statement that chooses a shard of the totals for a connection. A shared shard is correct, too, but its connections wait for each other.
 */
export function formatShard(schema: string): string {
  const first = lockNumberOf(`${schema} shards`)
  const freeShardSql = `SELECT shard FROM generate_series(1, ${maxShards}) AS shard WHERE pg_try_advisory_lock(${first} + shard) LIMIT 1`
  return `SELECT set_config('postern.shard', coalesce((${freeShardSql}), 0)::text, false)`
}

/** Returns the number of the lock that makes a transaction the only writer. */
export function writerLockOf(schema: string): number {
  return lockNumberOf(channelOf(schema))
}

/** Returns the NOTIFY channel of the gateways of one database. */
export function channelOf(schema: string): string {
  return `postern_${schema}`
}
