// Formats the settings of a PostgreSQL session.
import { lockNumberOf } from './lock-number.ts'

/** Formats the statements that each of our connections runs first. */
export function formatSetUp(schema: string): string {
  const parameters = { application_name: `'postern ${schema}'`, search_path: `"${schema}"` }
  return Object.entries({ ...sessionSettings, ...parameters })
    .map(([name, value]) => `SET ${name} = ${value}`)
    .join('; ')
}

const sessionSettings: Readonly<Record<string, string>> = {
  client_encoding: "'UTF8'",
  // A gateway that hangs must not block others.
  idle_in_transaction_session_timeout: "'5s'",
  lock_timeout: "'20s'",
  statement_timeout: "'60s'",
  // Every statement of the store has an index. A small table may grow at any time, and the server notices that only later.
  enable_seqscan: 'off',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
  // A vanished machine releases its locks. The setting has no effect on a socket in a folder, whose other end cannot vanish.
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  // A machine that runs but does not receive its results also releases its locks.
  tcp_user_timeout: "'15s'",
}

/** Limits for operators, who read much at once. Longer statements fail, so that few of their readings wait for a lock at a time. */
export const operatorLimits = "SET statement_timeout = '10s'; SET lock_timeout = '10s'"

/** The number of shards. Further connections share one. A gateway has four connections that write. */
const maxShards = 256

/**
 * Formats the choice of a shard of totals that no other connection has now. A shared shard is also correct, but its connections wait for each other.
 */
export function formatShard(schema: string): string {
  const first = lockNumberOf(`${schema} shards`)
  const freeShardSql = `SELECT shard FROM generate_series(1, ${maxShards}) AS shard WHERE pg_try_advisory_lock(${first} + shard) LIMIT 1`
  return `SELECT set_config('postern.shard', coalesce((${freeShardSql}), 0)::text, false)`
}

/** Returns the number of the lock that makes its holder the only writer. */
export function writerLockOf(schema: string): number {
  return lockNumberOf(channelOf(schema))
}

/** Returns the channel of hints among the gateways of one database. */
export function channelOf(schema: string): string {
  return `postern_${schema}`
}
