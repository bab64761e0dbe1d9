import type { Bounce } from '@postern/core'
import type { Batch } from '../engine/batch.ts'
import { moveTotal, noteChange } from '../engine/batch.ts'
import type { Database } from '../engine/database.ts'
import { prepareQuery } from '../engine/database.ts'
import type { RelationTable } from '../peers/relations.ts'
import type { EffectPlace } from './effect-place.ts'

interface SentDelivery {
  readonly number: number
  readonly destination: string
  readonly attempt: number
}

/** A delivery that was sent is dead after all, or is sent once more, or was not wanted. */
export function createBouncing(
  db: Database,
  relations: Pick<RelationTable, 'relate'>,
): (batch: Batch, bounce: Bounce, at: EffectPlace) => void {
  const find = prepareQuery<SentDelivery>(
    db,
    `SELECT d.number, d.destination, d.attempt FROM deliveries d JOIN messages m ON m.seq = d.message
     WHERE d.number = ? AND d.state = 'sent' AND m.agent = ? AND m.channel IN (?)`,
  )
  const note = prepareQuery(db, 'UPDATE deliveries SET last_error = ? WHERE number = ?')
  const kill = prepareQuery(db, "UPDATE deliveries SET state = 'dead', ended_at = ?, last_error = ? WHERE number = ?")
  // As new, behind whatever goes to the same place in the same thread.
  const revive = prepareQuery(
    db,
    `UPDATE deliveries SET state = 'later', ended_at = NULL, queued_at = ?1, last_error = ?2, due_at = CASE WHEN EXISTS
       (SELECT 1 FROM deliveries o WHERE o.thread_id = deliveries.thread_id AND o.destination = deliveries.destination
          AND o.ended_at IS NULL) THEN NULL ELSE CAST(?1 AS INTEGER) END WHERE number = ?3`,
  )

  function settle(batch: Batch, { number, attempt }: SentDelivery, { error, retry, isDelivered }: Bounce, now: number) {
    if (isDelivered) return void note.run(error, number)
    const isRetried = retry !== undefined && attempt < retry.attempts
    if (isRetried) revive.run(Math.ceil(retry.at), error, number)
    else kill.run(now, error, number)
    moveTotal(batch, 'deliveries.sent', isRetried ? 'deliveries.later' : 'deliveries.dead')
    noteChange(batch, 'delivery', number)
    if (isRetried) batch.readyWork.add('deliveries')
  }

  return (batch, bounce, { agent, channel: via, now }) => {
    const { delivery, error, suppresses } = bounce
    const sent = /^\d{1,15}$/.test(delivery) ? find.get(Number(delivery), agent, via) : undefined
    if (!sent) return
    settle(batch, sent, bounce, now)
    if (suppresses) relations.relate({ agent, via, relation: 'suppressed', peer: sent.destination }, error, now)
  }
}
