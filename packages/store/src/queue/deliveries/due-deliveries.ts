// Finds deliveries that are due.
import type { Sql } from '../../sql/sql.ts'

/** The row of a delivery that is due. */
export interface DueDelivery {
  readonly number: number
  readonly message: number
  readonly thread_id: number
  readonly response_seq: number | null
  readonly destination: string
  readonly host: string | null
  readonly target: string
  readonly lease_token: number
  readonly attempt: number
  readonly queued_at: number
  readonly tried_at: number | null
  readonly broadcast: number | null
  /** The time at which the delivery was given up during an attempt. If such a delivery is due, the lease of that attempt is over, and no further attempt follows. */
  readonly withdrawn_at: number | null
}

/** Prepares the query for due deliveries of one rank. Each rank has its own index. */
export function prepareDueDeliveries(db: Sql, rankCondition: string) {
  return db.prepare<DueDelivery>(
    `SELECT number, message, thread_id, response_seq, destination, host, target, lease_token, attempt, queued_at, tried_at, broadcast, withdrawn_at
     FROM deliveries WHERE ${rankCondition} AND due_at <= ? AND coalesce(host, '') NOT IN (SELECT value FROM json_each(?))
     ORDER BY due_at LIMIT +? ${db.rowLocks.skipLocked}`,
  )
}
