// Inserts a delivery with its lease.
import type { Delivery, PlannedDelivery } from '@postern/pipeline'
import { readResponse } from '../../messages/responses.ts'
import { formatJson, parseJson } from '../../sql/json-columns.ts'
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import type { DeliverySlot, InProcessDeliveries } from './in-process-deliveries.ts'
import type { DeliveryCause } from './new-delivery.ts'
import { deliveryColumns, formatDeliveryValues } from './new-delivery.ts'

interface LeasedDelivery {
  readonly plannedDelivery: PlannedDelivery
  readonly cause: DeliveryCause
  readonly slot: DeliverySlot
}

/**
 * Prepares the insertion of a delivery with its lease. If earlier deliveries to the destination are open, the delivery is inserted without a lease and
 * waits for them.
 */
export function createLeasedInsert(db: Sql, { inDoubt }: Pick<InProcessDeliveries, 'inDoubt'>) {
  const insert = db.prepareReturning<{
    number: number
    lease_owner: string | null
  }>(`INSERT INTO deliveries (${deliveryColumns}, state, due_at, lease_owner, lease_token, attempt)
     SELECT CAST(?1 AS INTEGER), CAST(?2 AS INTEGER), CAST(?3 AS INTEGER), ?4, ?5, CAST(?6 AS INTEGER), ?7, ?8, CAST(?9 AS INTEGER), 'queued',
       CASE WHEN goes = 1 THEN CAST(?10 AS INTEGER) END, CASE WHEN goes = 1 THEN ?11 END, goes, goes
     FROM (SELECT CASE WHEN EXISTS (SELECT 1 FROM deliveries WHERE thread_id = ?3 AND destination = ?4 AND ended_at IS NULL)
       THEN 0 ELSE 1 END AS goes) AS v RETURNING number, lease_owner`)
  return (batch: Batch, { plannedDelivery, cause, slot }: LeasedDelivery): void => {
    const { holder, leaseMs } = slot.consumer
    const readRow = insert(...formatDeliveryValues(plannedDelivery, cause), cause.now + leaseMs, holder)
    batch.begins.push(() => {
      const row = readRow()
      if (row?.lease_owner) slot.begin(toNewDelivery(row.number, plannedDelivery, cause))
    })
    if (cause.response !== undefined) {
      const lease = { workNumber: cause.response, token: 1, holder, expiresAt: cause.now + leaseMs }
      batch.ifUnsure.push(() => inDoubt.add(lease))
    }
  }
}

function toNewDelivery(number: number, { to, target }: PlannedDelivery, cause: DeliveryCause): Delivery {
  const { answerInMemory, now, channel: via, agent, thread } = cause
  if (!answerInMemory) throw new Error('a leased delivery needs its answer in memory')
  const { readMessage, correlationId, response } = answerInMemory
  const position = { id: String(number), token: 1, attempt: 1, queuedAt: now, via, agent, thread, to }
  return {
    ...position,
    target: parseJson(formatJson(target)),
    correlationId,
    message: readMessage(),
    ...readResponse(response),
  }
}
