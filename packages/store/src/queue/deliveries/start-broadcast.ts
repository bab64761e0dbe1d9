// Inserts a broadcast to all peers of one relation.
import type { DeliveryPlan } from '@postern/pipeline'
import { formatJson } from '../../sql/json-columns.ts'
import type { Sql } from '../../sql/sql.ts'
import type { DeliveryCause } from './new-delivery.ts'

/** Prepares the insertion of a broadcast, inside a write. */
export function createBroadcastStarter(db: Sql) {
  const insert = db.prepare(
    `INSERT INTO broadcasts (message, response_seq, thread_id, agent, channel, relation, target, until_id, due_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT coalesce(max(id), 0) FROM relations
       WHERE agent = ?4 AND channel = ?5 AND relation = ?6), ?8)`,
  )
  return (
    { relation, target }: NonNullable<DeliveryPlan['broadcasts']>[number],
    { message, response, thread, agent, channel, now }: DeliveryCause,
  ) => void insert.run(message, response ?? null, thread, agent, channel, relation, formatJson(target), now)
}
