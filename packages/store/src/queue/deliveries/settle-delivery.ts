// Stores the result of a delivery attempt.
import type { DeliveryReason } from '@postern/message'
import type { Delivery, DeliveryRecord, Settlement, WorkStore } from '@postern/pipeline'
import { formatJson } from '../../sql/json-columns.ts'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import { deliveryConflict, destinationConflict } from '../../transaction/conflict-keys.ts'
import { noteChange } from '../../transaction/notices.ts'
import type { StoreContext } from '../../transaction/store-context.ts'
import { moveTotal } from '../../transaction/totals.ts'
import { refuseLostLease } from '../lost-lease.ts'
import { createAttemptRecorder } from './delivery-attempts.ts'
import type { DeliveryTable } from './delivery-table.ts'

interface LeasedDelivery {
  readonly state: DeliveryRecord['state']
  readonly thread_id: number
  readonly destination: string
  /** The time at which the delivery was given up during this attempt. */
  readonly withdrawn_at: number | null
  /** 1 if another delivery to the same destination waits for this delivery. */
  readonly is_awaited: 0 | 1
}

interface Outcome {
  readonly state: DeliveryRecord['state']
  readonly dueAt: number | null
  readonly endedAt: number | null
  readonly error: string | null
  readonly reason: DeliveryReason | null
  readonly note: string | null
  /** 1 if the attempt does not count and must be subtracted. */
  readonly uncountedAttempts: 0 | 1
  /** The time of the attempt or postponement after which the delivery waits. Null if the delivery has ended. */
  readonly waitsSince: number | null
}

/** Creates the function that stores the result of an attempt. If the delivery has ended, the next delivery to the same destination becomes due. */
export function createSettle(
  { db, write, writeLightly, now }: StoreContext,
  { deliveries }: { readonly deliveries: DeliveryTable },
): Pick<WorkStore, 'settle'> {
  const findLeased = db.prepare<LeasedDelivery>(
    `SELECT state, thread_id, destination, withdrawn_at, EXISTS (SELECT 1 FROM deliveries o WHERE o.thread_id = d.thread_id
       AND o.destination = d.destination AND o.ended_at IS NULL AND o.due_at IS NULL) AS is_awaited
     FROM deliveries d WHERE number = ? AND lease_token = ? AND lease_owner IS NOT NULL ${db.rowLocks.wait}`,
  )
  const recordOutcome = createRecorder(db)
  const recordAttempt = createAttemptRecorder(db)
  // Deliveries that wait for an unsent delivery are delayed by it, so their time limit begins, too.
  const beginWaiting = db.prepare(
    'UPDATE deliveries SET tried_at = ? WHERE thread_id = ? AND destination = ? AND ended_at IS NULL AND tried_at IS NULL',
  )

  function* settleDelivery(batch: Batch, delivery: Delivery, settlement: Settlement): Operation<number> {
    const leasedDelivery = yield* findLeased.get(Number(delivery.id), delivery.token)
    if (!leasedDelivery) return 0
    const at = now()
    if (leasedDelivery.withdrawn_at !== null) {
      recordAttempt(delivery, settlement)
      yield* deliveries.endGivenUp(batch, { ...leasedDelivery, number: Number(delivery.id) }, at)
      return 0
    }
    recordOutcome(Number(delivery.id), toOutcome(settlement, at), settlement.wire)
    recordAttempt(delivery, settlement)
    moveTotal(batch, `deliveries.${leasedDelivery.state}`, `deliveries.${settlement.state}`)
    noteChange(batch, 'delivery', Number(delivery.id))
    if (leasedDelivery.is_awaited)
      yield* deliveries.promoteNext(
        batch,
        { thread: leasedDelivery.thread_id, destination: leasedDelivery.destination },
        at,
      )
    // Workers are also notified of a later time, because a worker that waits for the next due time must poll again.
    if (settlement.state === 'later') {
      beginWaiting.run(at, leasedDelivery.thread_id, leasedDelivery.destination)
      batch.readyWork.add('deliveries')
    }
    return 1
  }

  return {
    async settle(delivery, settlement) {
      // After a power failure, a delivery of a broadcast may be sent twice. Both have the same document, so peers ignore the second one.
      const isRepeatable = delivery.broadcast !== undefined && settlement.state === 'sent'
      const { thread, to } = delivery
      const conflictKeys = () =>
        thread === undefined ? undefined : [deliveryConflict(delivery), destinationConflict(thread, to)]
      const changes = await (isRepeatable ? writeLightly : write)(
        batch => settleDelivery(batch, delivery, settlement),
        {
          conflictKeys,
        },
      )
      refuseLostLease(changes, `delivery ${delivery.id}`)
    },
  }
}

function toOutcome(settlement: Settlement, now: number): Outcome {
  const isLater = settlement.state === 'later'
  return {
    state: settlement.state,
    dueAt: isLater ? settlement.dueAt : null,
    endedAt: isLater ? null : now,
    error: settlement.state === 'sent' ? null : settlement.error,
    reason: settlement.state === 'sent' ? null : settlement.reason,
    note: settlement.state === 'sent' ? (settlement.note ?? null) : null,
    uncountedAttempts: settlement.state === 'later' && settlement.isUncounted ? 1 : 0,
    waitsSince: isLater ? now : null,
  }
}

function createRecorder(db: Sql): (number: number, outcome: Outcome, wire: Settlement['wire']) => void {
  const update = db.prepare(
    `UPDATE deliveries SET state = ?, due_at = ?, ended_at = ?, last_error = coalesce(?, last_error), reason = ?, note = ?,
       wire = coalesce(?, wire), attempt = attempt - ?, tried_at = coalesce(tried_at, CAST(? AS INTEGER)), lease_owner = NULL WHERE number = ?`,
  )
  return (number, { state, dueAt, endedAt, error, reason, note, uncountedAttempts, waitsSince }, wire) => {
    const wireJson = wire === undefined ? null : formatJson(wire)
    update.run(state, dueAt, endedAt, error, reason, note, wireJson, uncountedAttempts, waitsSince, number)
  }
}
