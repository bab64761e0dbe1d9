// Shows other gateways that this gateway runs, and finds gateways that have expired.
import pg from 'pg'
import { lockNumberOf } from '../../server/lock-number.ts'
import type { Statement } from '../pipelined-run.ts'

/**
 * The table of gateways that work at a database, with the names in their leases. A gateway has a shared advisory lock with the number `lock` on each
 * of its connections. The server releases the lock when the last connection ends. So a row whose lock is free belongs to a gateway that is gone.
 */
export const heartbeatTable =
  'CREATE TABLE gateways (lock BIGINT PRIMARY KEY, lease_owner TEXT COLLATE "C" NOT NULL UNIQUE)'

/** Formats the first statements of each connection of a gateway. The lock precedes the row, so that no check sees the row without the lock. */
export function formatPresence(schema: string, holder: string): string {
  const lock = lockNumberOf(`${schema} ${holder}`)
  const row = `INSERT INTO gateways VALUES (${lock}, ${pg.escapeLiteral(holder)}) ON CONFLICT DO NOTHING`
  return `SELECT pg_advisory_lock_shared(${lock}); ${row}`
}

/** Lists the gateways whose lock is free. */
export const findExpired: Statement = {
  name: 'expired-gateways',
  text: 'SELECT lease_owner FROM gateways WHERE lease_owner <> $1 AND pg_try_advisory_xact_lock(lock)',
}

/** The time between two checks of other gateways, ms. */
export const heartbeatCheckMs = 2_000
/** The number of checks after which a missing gateway expires. A gateway that loses its connections reconnects sooner. */
const checksUntilExpired = 4

/** Counts the consecutive checks at which a gateway was missing. `count` returns the gateways that have expired. */
export function createExpiredCounter(): { count(missingHolders: readonly string[]): readonly string[]; reset(): void } {
  let counts: ReadonlyMap<string, number> = new Map()
  return {
    count(missing) {
      counts = new Map(missing.map(holder => [holder, (counts.get(holder) ?? 0) + 1]))
      return missing.filter(holder => (counts.get(holder) ?? 0) >= checksUntilExpired)
    },
    reset() {
      counts = new Map()
    },
  }
}
