import type { DatabaseSync } from 'node:sqlite'
import type { Bounce } from '@postern/core'
import type { Batch } from './batch.ts'
import { moveTotal } from './batch.ts'
import { prepareQuery } from './database.ts'
import type { EffectPlace } from './effects.ts'

/** A delivery that was sent is dead after all, or is sent once more. */
export function createBouncing(db: DatabaseSync): (batch: Batch, bounce: Bounce, at: EffectPlace) => void {
  const find = prepareQuery<{ number: number; attempt: number }>(
    db,
    `SELECT d.number, d.attempt FROM deliveries d JOIN messages m ON m.number = d.message
     WHERE d.number = ? AND d.state = 'sent' AND m.agent = ? AND m.via = ?`,
  )
  const kill = prepareQuery(db, "UPDATE deliveries SET state = 'dead', ended_at = ?, last_error = ? WHERE number = ?")
  // As new, behind whatever goes to the same place in the same thread.
  const revive = prepareQuery(
    db,
    `UPDATE deliveries SET state = 'later', ended_at = NULL, queued_at = ?1, last_error = ?2, due_at = CASE WHEN EXISTS
       (SELECT 1 FROM deliveries o WHERE o.thread_id = deliveries.thread_id AND o.destination = deliveries.destination
          AND o.ended_at IS NULL) THEN NULL ELSE ?1 END WHERE number = ?3`,
  )
  return (batch, { delivery, error, retry }, { agent, via, now }) => {
    const sent = /^\d{1,15}$/.test(delivery) ? find.get(Number(delivery), agent, via) : undefined
    if (!sent) return
    const isRetried = retry !== undefined && sent.attempt < retry.attempts
    if (isRetried) revive.run(Math.ceil(retry.at), error, sent.number)
    else kill.run(now, error, sent.number)
    moveTotal(batch, 'deliveries.sent', isRetried ? 'deliveries.later' : 'deliveries.dead')
    if (isRetried) batch.hasReadyWork = true
  }
}
