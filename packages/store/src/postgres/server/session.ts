import { lockNumberOf } from './lock-number.ts'

/** What every connection of ours is told first. */
export function formatSetUp(schema: string): string {
  const own = { application_name: `'postern ${schema}'`, search_path: `"${schema}"` }
  return Object.entries({ ...session, ...own })
    .map(([name, value]) => `SET ${name} = ${value}`)
    .join('; ')
}

const session: Readonly<Record<string, string>> = {
  client_encoding: "'UTF8'",
  // A gateway that hangs lets the others go on.
  idle_in_transaction_session_timeout: "'5s'",
  lock_timeout: "'20s'",
  statement_timeout: "'60s'",
  // Every statement of the store has its index; a table is small until it is not, and is looked at by the server only later.
  enable_seqscan: 'off',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
  // A machine that is gone lets go of its locks. Not said of a socket in a folder, whose other end cannot vanish.
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  // So does one that lives and does not take what it has asked for.
  tcp_user_timeout: "'15s'",
}

/** More connections than these share one. A gateway has four that write. */
const mostShards = 256

/**
 * Gives a connection that writes a shard of totals that no other has now. One that is in use by several is right, too; each waits for the other
 * then.
 */
export function formatShard(schema: string): string {
  const first = lockNumberOf(`${schema} shards`)
  const free = `SELECT shard FROM generate_series(1, ${mostShards}) AS shard WHERE pg_try_advisory_lock(${first} + shard) LIMIT 1`
  return `SELECT set_config('postern.shard', coalesce((${free}), 0)::text, false)`
}

/** Who holds it is the only one who writes. */
export function writerLockOf(schema: string): number {
  return lockNumberOf(channelOf(schema))
}

/** The topic of hints among gateways of one database. */
export function channelOf(schema: string): string {
  return `postern_${schema}`
}
