import { workKinds } from '@postern/core'
import type { Batch } from '../engine/database.ts'
import { createBatch, prepareQuery } from '../engine/database.ts'
import type { PostgresDatabase } from './database.ts'

/** Work of somebody who is gone is due at once. @returns nothing for one who is there after all, or was taken over by another */
export function createTakeover(db: PostgresDatabase): (holder: string, now: number) => Batch | undefined {
  // Until the end of the transaction the other gateway cannot come back.
  const proveGone = prepareQuery<{ is_gone: number }>(
    db,
    'SELECT pg_try_advisory_xact_lock(lock) AS is_gone FROM gateways WHERE lease_owner = ?',
  )
  const endings = ['turns', 'deliveries', 'broadcasts'].map(table =>
    prepareQuery(db, `UPDATE ${table} SET due_at = ?1 WHERE due_at > ?1 AND lease_owner = ?2`),
  )
  const remove = prepareQuery(db, 'DELETE FROM gateways WHERE lease_owner = ?')
  const { begin, commit, rollback } = db.transactions

  function takeOver(holder: string, now: number): Batch | undefined {
    if (!proveGone.get(holder)?.is_gone) {
      rollback()
      return undefined
    }
    for (const end of endings) end.run(now, holder)
    remove.run(holder)
    const batch = createBatch()
    for (const kind of workKinds) batch.readyWork.add(kind)
    commit(batch)
    return batch
  }

  return (holder, now) => {
    begin({ isDurable: false })
    try {
      return takeOver(holder, now)
    } catch (error) {
      rollback()
      throw error
    }
  }
}
