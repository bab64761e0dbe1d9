// Retries, drops and dismisses deliveries for operators.
import type { OperatorStore } from '@postern/pipeline'
import type { DeliveryTable, OpenDelivery } from '../queue/deliveries/delivery-table.ts'
import type { Operation } from '../sql/operation.ts'
import { endedWith } from '../sql/operation.ts'
import type { Batch } from '../transaction/batch.ts'
import { noteChange } from '../transaction/notices.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import { moveTotal } from '../transaction/totals.ts'

type Control = (batch: Batch, row: OpenDelivery) => Operation<boolean>

export interface DeliveryControlDeps {
  readonly deliveries: DeliveryTable
}

/** Creates the functions with which an operator retries, drops or dismisses a delivery. */
export function createDeliveryControl(
  context: StoreContext,
  tables: DeliveryControlDeps,
): Pick<OperatorStore, 'retryDelivery' | 'dropDelivery' | 'dismissDelivery'> {
  const { db, write } = context
  const find = db.prepare<OpenDelivery>('SELECT number, thread_id, destination, state FROM deliveries WHERE number = ?')
  const run = (control: Control) => (id: string) =>
    write(function* (batch) {
      const row = /^\d{1,15}$/.test(id) ? yield* find.get(Number(id)) : undefined
      return row !== undefined && row.state !== 'sent' && (yield* control(batch, row))
    })
  return {
    retryDelivery: run(createRetry(context, tables)),
    dropDelivery: run(createDrop(context, tables)),
    dismissDelivery: run(createDismiss(context)),
  }
}

function createRetry({ db, now }: StoreContext, { deliveries }: DeliveryControlDeps): Control {
  // A running attempt keeps its lease, and may settle the delivery again.
  const requeue = db.prepare(
    `UPDATE deliveries SET state = 'queued', due_at = CASE WHEN ended_at IS NULL THEN due_at END, ended_at = NULL, withdrawn_at = NULL,
       queued_at = ?, tried_at = NULL WHERE number = ?`,
  )
  // A delivery from before the retraction of its content cannot be sent again, but a delivery that announces the retraction can.
  const findWithdrawal = db.prepare(
    'SELECT 1 FROM deliveries d JOIN messages r ON r.seq = d.response_seq WHERE d.number = ? AND coalesce(d.ended_at, d.withdrawn_at) <= r.retracted_at',
  )
  const restartClock = db.prepare('UPDATE deliveries SET queued_at = ?, tried_at = NULL WHERE number = ?')
  // The order of deliveries to one destination does not change, so the first of them is due at once. A running attempt stays with its worker.
  const makeDestinationDue = db.prepare(
    `UPDATE deliveries SET due_at = ?1 WHERE thread_id = ?2 AND destination = ?3 AND ended_at IS NULL AND due_at > ?1
       AND lease_owner IS NULL`,
  )
  return function* (batch, { number, thread_id, destination, state }) {
    const at = now()
    if (yield* findWithdrawal.get(number)) return false
    if (state === 'dead' || state === 'dismissed') {
      requeue.run(at, number)
      moveTotal(batch, `deliveries.${state}`, 'deliveries.queued')
      yield* deliveries.promoteNext(batch, { thread: thread_id, destination }, at)
    } else restartClock.run(at, number)
    makeDestinationDue.run(at, thread_id, destination)
    noteChange(batch, 'delivery', number)
    batch.readyWork.add('deliveries')
    return true
  }
}

function createDrop({ now }: StoreContext, { deliveries }: DeliveryControlDeps): Control {
  return function* (batch, row) {
    if (row.state === 'dead' || row.state === 'dismissed') return false
    yield* deliveries.giveUp(batch, row, { reason: 'dropped', error: 'dropped by the operator' }, now())
    return true
  }
}

/** Creates the dismissal of a dead delivery that the operator has seen. The delivery stays on record, but no longer counts as dead. */
function createDismiss({ db }: StoreContext): Control {
  const dismiss = db.prepare("UPDATE deliveries SET state = 'dismissed' WHERE number = ?")
  return (batch, { number, state }) => {
    if (state !== 'dead') return endedWith(false)
    dismiss.run(number)
    moveTotal(batch, 'deliveries.dead', 'deliveries.dismissed')
    noteChange(batch, 'delivery', number)
    return endedWith(true)
  }
}
