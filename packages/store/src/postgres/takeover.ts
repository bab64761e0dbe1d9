// Makes the work of a gateway that has disappeared due for other gateways.

import { workKinds } from '@postern/pipeline'
import type { Sql } from '../sql/sql.ts'
import type { WriteOperation } from '../transaction/batch.ts'

/**
 * Creates an operation that makes the work of a disappeared gateway due at once. The operation returns false if that gateway still runs, or if another
 * gateway has already done this.
 */
export function createTakeover(db: Sql): (holder: string, now: number) => WriteOperation<boolean> {
  // The lock prevents the return of the other gateway until the end of the transaction.
  const proveGone = db.prepare<{ is_gone: number }>(
    'SELECT pg_try_advisory_xact_lock(lock) AS is_gone FROM gateways WHERE lease_owner = ?',
  )
  const dueUpdates = ['turns', 'deliveries', 'broadcasts'].map(table =>
    db.prepare(`UPDATE ${table} SET due_at = ?1 WHERE due_at > ?1 AND lease_owner = ?2`),
  )
  const remove = db.prepare('DELETE FROM gateways WHERE lease_owner = ?')
  return (holder, now) =>
    function* (batch) {
      if (!(yield* proveGone.get(holder))?.is_gone) return false
      for (const dueUpdate of dueUpdates) dueUpdate.run(now, holder)
      remove.run(holder)
      for (const kind of workKinds) batch.readyWork.add(kind)
      return true
    }
}
