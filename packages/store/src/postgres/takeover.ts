import { workKinds } from '@postern/core'
import type { Database } from '../engine/database.ts'
import { sqlOf } from '../engine/database.ts'
import type { Operation } from '../engine/writer.ts'

/** Makes work of somebody who is gone due at once. @returns false for one who is there after all, or was taken over by another */
export function createTakeover(engine: Database): (holder: string, now: number) => Operation<boolean> {
  const db = sqlOf(engine)
  // Until the end of the transaction the other gateway cannot come back.
  const proveGone = db.prepare<{ is_gone: number }>(
    'SELECT pg_try_advisory_xact_lock(lock) AS is_gone FROM gateways WHERE lease_owner = ?',
  )
  const endings = ['turns', 'deliveries', 'broadcasts'].map(table =>
    db.prepare(`UPDATE ${table} SET due_at = ?1 WHERE due_at > ?1 AND lease_owner = ?2`),
  )
  const remove = db.prepare('DELETE FROM gateways WHERE lease_owner = ?')
  return (holder, now) => batch => {
    if (!proveGone.get(holder)?.is_gone) return false
    for (const end of endings) end.run(now, holder)
    remove.run(holder)
    for (const kind of workKinds) batch.readyWork.add(kind)
    return true
  }
}
