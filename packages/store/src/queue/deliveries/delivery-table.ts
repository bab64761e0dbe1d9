// Stores deliveries, and keeps the order of deliveries to one destination.
import type { DeliveryReason } from '@postern/message'
import type { DeliveryRecord, PlannedDelivery } from '@postern/pipeline'
import type { RelationTable } from '../../peers/relations.ts'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { Batch } from '../../transaction/batch.ts'
import { noteChange } from '../../transaction/notices.ts'
import { addToTotal, moveTotal } from '../../transaction/totals.ts'
import type { InProcessDeliveries } from './in-process-deliveries.ts'
import { createLeasedInsert } from './insert-leased.ts'
import type { DeliveryCause } from './new-delivery.ts'
import { deliveryColumns, formatDeliveryValues } from './new-delivery.ts'

/** The deliveries to one destination in one thread, which are sent in their order. */
interface DestinationOrder {
  readonly thread: number
  readonly destination: string
}

/** The table of deliveries. For each destination in a thread, one open delivery is due, and the others wait for it. */
export interface DeliveryTable {
  enqueue(batch: Batch, planned: readonly PlannedDelivery[], cause: DeliveryCause): Operation<void>
  /** Makes the first waiting delivery to a destination due, unless another one is due. Call it when a delivery has ended or is due again. */
  promoteNext(batch: Batch, order: DestinationOrder, now: number): Operation<void>
  /**
   * Gives up an open delivery. No attempt follows, and a running attempt cannot settle the delivery. The next delivery to the destination is due when
   * the running attempt or its lease has ended, because a withdrawal must not reach the peer before the content that it withdraws.
   */
  giveUp(batch: Batch, openDelivery: OpenDelivery, cause: EndCause, now: number): Operation<void>
  /** Ends an open delivery at once, because its row is about to be deleted. */
  end(batch: Batch, open: OpenDelivery, cause: EndCause, now: number): Operation<void>
  /** Ends a delivery that was given up, after its last attempt is over. */
  endGivenUp(batch: Batch, delivery: Omit<OpenDelivery, 'state'>, now: number): Operation<void>
}

/** The cause for which a delivery ends unsent, as a code and as a text for the operator. */
export interface EndCause {
  readonly reason: DeliveryReason
  readonly error: string
}

/** The row of a delivery that has not ended. */
export interface OpenDelivery {
  readonly number: number
  readonly thread_id: number
  readonly destination: string
  readonly state: DeliveryRecord['state']
}

interface DeliveryTableDeps {
  readonly relations: Pick<RelationTable, 'has'>
  readonly inProcessDeliveries: Pick<InProcessDeliveries, 'reserveSlot' | 'inDoubt'>
}

/** The maximum number of deliveries of one answer that are inserted with their leases. For more deliveries a poll is cheaper, because it reads the answer only once. */
const maxLeasedPerAnswer = 8

export function createDeliveryTable(db: Sql, deps: DeliveryTableDeps): DeliveryTable {
  const insertOne = createDeliveryInsertion(db, deps)
  // A delivery that is sent again after a bounce may be queued for a later time.
  const promote = db.prepare(
    `UPDATE deliveries SET due_at = max(CAST(?1 AS INTEGER), queued_at) WHERE number = (SELECT number FROM deliveries
       WHERE thread_id = ?2 AND destination = ?3 AND ended_at IS NULL AND due_at IS NULL ORDER BY number LIMIT 1)
     AND NOT EXISTS (SELECT 1 FROM deliveries WHERE thread_id = ?2 AND destination = ?3 AND ended_at IS NULL AND due_at > 0)`,
  )
  const endOpen = db.prepare(
    "UPDATE deliveries SET state = 'dead', due_at = NULL, lease_owner = NULL, ended_at = ?, last_error = ?, reason = ? WHERE number = ?",
  )
  const withdrawLeased = db.prepare(
    `UPDATE deliveries SET state = 'dead', withdrawn_at = ?1, last_error = ?2, reason = ?3
     WHERE number = ?4 AND lease_owner IS NOT NULL AND due_at > ?1`,
  )
  const endWithdrawn = db.prepare(
    'UPDATE deliveries SET due_at = NULL, lease_owner = NULL, ended_at = withdrawn_at WHERE number = ?',
  )
  const promoteNext: DeliveryTable['promoteNext'] = function* (batch, { thread, destination }, now) {
    if ((yield* promote.change(now, thread, destination)) > 0) batch.readyWork.add('deliveries')
  }
  const end: DeliveryTable['end'] = function* (
    batch,
    { number, thread_id, destination, state },
    { error, reason },
    now,
  ) {
    endOpen.run(now, error, reason, number)
    recordDead(batch, { number, state })
    yield* promoteNext(batch, { thread: thread_id, destination }, now)
  }
  return {
    *enqueue(batch, planned, { answerInMemory, ...cause }) {
      const insertCause = planned.length <= maxLeasedPerAnswer ? { ...cause, answerInMemory } : cause
      for (const plannedDelivery of planned) yield* insertOne(batch, plannedDelivery, insertCause)
    },
    promoteNext,
    *giveUp(batch, open, cause, now) {
      if ((yield* withdrawLeased.change(now, cause.error, cause.reason, open.number)) > 0) recordDead(batch, open)
      else yield* end(batch, open, cause, now)
    },
    end,
    *endGivenUp(batch, { number, thread_id, destination }, now) {
      endWithdrawn.run(number)
      noteChange(batch, 'delivery', number)
      yield* promoteNext(batch, { thread: thread_id, destination }, now)
    },
  }
}

/** Prepares the insertion of a delivery. A delivery to a peer that has blocked the agent ends unsent. */
function createDeliveryInsertion(db: Sql, { relations, inProcessDeliveries }: DeliveryTableDeps) {
  const insert = prepareInserts(db)
  const insertLeased = createLeasedInsert(db, inProcessDeliveries)

  function* isBlocked({ peer }: PlannedDelivery, { agent, channel: via }: DeliveryCause) {
    return peer !== undefined && (yield* relations.has({ agent, via, relation: 'blocked_by', peer }))
  }

  function insertUnleased(batch: Batch, values: ReturnType<typeof formatDeliveryValues>, state: NewState): void {
    if (state !== 'queued') return void insert.ended.run(...values, state, ...initialValues[state])
    insert.queued.run(...values)
    batch.readyWork.add('deliveries')
  }

  return function* (batch: Batch, plannedDelivery: PlannedDelivery, cause: DeliveryCause): Operation<void> {
    const state: NewState = (yield* isBlocked(plannedDelivery, cause))
      ? 'dead'
      : plannedDelivery.isPulled
        ? 'sent'
        : 'queued'
    addToTotal(batch, `deliveries.${state}`)
    const slot = state === 'queued' && cause.answerInMemory && inProcessDeliveries.reserveSlot(batch, plannedDelivery)
    if (slot) insertLeased(batch, { plannedDelivery, cause, slot })
    else insertUnleased(batch, formatDeliveryValues(plannedDelivery, cause), state)
  }
}

function recordDead(batch: Batch, { number, state }: Pick<OpenDelivery, 'number' | 'state'>): void {
  moveTotal(batch, `deliveries.${state}`, 'deliveries.dead')
  noteChange(batch, 'delivery', number)
}

/** Prepares the insertion of deliveries that are queued, and of deliveries that have ended from the start. */
function prepareInserts(db: Sql) {
  const queued = db.prepare(
    `INSERT INTO deliveries (${deliveryColumns}, state, due_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'queued', CASE WHEN EXISTS
       (SELECT 1 FROM deliveries WHERE thread_id = ?3 AND destination = ?4 AND ended_at IS NULL) THEN NULL ELSE CAST(?6 AS INTEGER) END)`,
  )
  const ended = db.prepare(
    `INSERT INTO deliveries (${deliveryColumns}, state, attempt, last_error, reason, ended_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?6)`,
  )
  return { queued, ended }
}

type NewState = 'queued' | keyof typeof initialValues

/** Attempts, errors and reasons of deliveries that have ended from the start. */
const initialValues = { sent: [1, null, null], dead: [0, 'the recipient has blocked this agent', 'blocked'] } as const
