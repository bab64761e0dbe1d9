import pg from 'pg'
import { lockNumberOf } from '../../server/lock-number.ts'
import type { Statement } from '../pipelined-run.ts'

/**
 * Who works at a database, by the name its leases bear. As long as one has a connection it holds `lock`, shared, on each of them; the server lets go
 * of it with the last, however that ends. A row without its lock is a gateway that is gone.
 */
export const heartbeatTable =
  'CREATE TABLE gateways (lock BIGINT PRIMARY KEY, lease_owner TEXT COLLATE "C" NOT NULL UNIQUE)'

/** What each connection of a gateway is told first: the lock before the row, so that none is ever seen without it. */
export function formatPresence(schema: string, holder: string): string {
  const lock = lockNumberOf(`${schema} ${holder}`)
  const row = `INSERT INTO gateways VALUES (${lock}, ${pg.escapeLiteral(holder)}) ON CONFLICT DO NOTHING`
  return `SELECT pg_advisory_lock_shared(${lock}); ${row}`
}

/** Those whose lock is free. */
export const findExpired: Statement = {
  name: 'fallen',
  text: 'SELECT lease_owner FROM gateways WHERE lease_owner <> $1 AND pg_try_advisory_xact_lock(lock)',
}

/** How often others are looked at. */
export const heartbeatCheckMs = 2_000
/** A gateway that loses its connections has them again sooner. */
const checksUntilExpired = 4

/** Who was gone at several looks in a row. */
export function createExpiredCounter(): { see(gone: readonly string[]): readonly string[]; forget(): void } {
  let counts: ReadonlyMap<string, number> = new Map()
  return {
    see(gone) {
      counts = new Map(gone.map(holder => [holder, (counts.get(holder) ?? 0) + 1]))
      return gone.filter(holder => (counts.get(holder) ?? 0) >= checksUntilExpired)
    },
    forget() {
      counts = new Map()
    },
  }
}
