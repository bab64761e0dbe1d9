// Revokes the lease of a turn whose message was changed.
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import { noteChange } from '../../transaction/notices.ts'
import { moveTotals } from '../../transaction/totals.ts'

/** Prepares the revocation of a lease. The message was changed, so the turn begins again from its start. */
export function createLeaseRevocation(db: Sql): (batch: Batch, leader: number, now: number) => Operation<void> {
  const change = db.prepare<{ lease_owner: string | null; lease_token: number }>(
    'UPDATE turns SET revision = revision + 1 WHERE message = ? AND ended_at IS NULL RETURNING lease_owner, lease_token',
  )
  const releaseLease = db.prepare(
    `UPDATE turns SET state = 'received', due_at = ?1, lease_token = lease_token + 1, attempt = attempt - 1, crash_count = 0, lease_owner = NULL,
       abort_count = abort_count + 1 WHERE message = ?2`,
  )
  const releaseMerged = db.prepare(
    "UPDATE turns SET state = 'received' WHERE merged_into = ? AND ended_at IS NULL AND state = 'working'",
  )
  return function* (batch, leader, now) {
    const turn = yield* change.get(leader)
    if (!turn?.lease_owner) return
    releaseLease.run(now, leader)
    moveTotals(batch, 1 + (yield* releaseMerged.change(leader)), ['messages.working', 'messages.received'])
    noteChange(batch, 'turn', leader)
    batch.notices.push({ topic: `message:${leader}`, payload: { kind: 'edited', token: turn.lease_token } })
    batch.readyWork.add('turns')
  }
}
