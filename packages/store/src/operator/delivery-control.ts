import type { OperatorStore } from '@postern/core'
import type { DeliveryTable, OpenDelivery } from '../deliveries/queue.ts'
import type { Batch } from '../engine/database.ts'
import { moveTotal, noteChange } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'

type Control = (batch: Batch, row: OpenDelivery) => boolean

export interface DeliveryControlDeps {
  readonly deliveries: DeliveryTable
}

/** What an operator may do to a delivery. */
export function createDeliveryControl(
  context: StoreContext,
  tables: DeliveryControlDeps,
): Pick<OperatorStore, 'retryDelivery' | 'dropDelivery' | 'dismissDelivery'> {
  const { db, write } = context
  const find = db.prepare<OpenDelivery>('SELECT number, thread_id, destination, state FROM deliveries WHERE number = ?')
  const run = (control: Control) => (id: string) =>
    write(batch => {
      const row = /^\d{1,15}$/.test(id) ? find.get(Number(id)) : undefined
      return row !== undefined && row.state !== 'sent' && control(batch, row)
    })
  return {
    retryDelivery: run(createRetry(context, tables)),
    dropDelivery: run(createDrop(context, tables)),
    dismissDelivery: run(createDismiss(context)),
  }
}

function createRetry({ db, now }: StoreContext, { deliveries }: DeliveryControlDeps): Control {
  const revive = db.prepare(
    "UPDATE deliveries SET state = 'queued', due_at = NULL, ended_at = NULL, queued_at = ? WHERE number = ?",
  )
  // What it would deliver is gone; that it is gone may be delivered.
  const isTakenBack = db.prepare(
    'SELECT 1 FROM deliveries d JOIN messages r ON r.seq = d.response_seq WHERE d.number = ? AND d.ended_at <= r.retracted_at',
  )
  const restartClock = db.prepare('UPDATE deliveries SET queued_at = ? WHERE number = ?')
  // Order is kept: whoever goes first in the lane goes at once. One that is being tried now stays with who tries it.
  const hurryLane = db.prepare(
    `UPDATE deliveries SET due_at = ?1 WHERE thread_id = ?2 AND destination = ?3 AND ended_at IS NULL AND due_at > ?1
       AND lease_owner IS NULL`,
  )
  return (batch, { number, thread_id, destination, state }) => {
    const at = now()
    if (isTakenBack.get(number)) return false
    if (state === 'dead' || state === 'dismissed') {
      revive.run(at, number)
      moveTotal(batch, `deliveries.${state}`, 'deliveries.queued')
      deliveries.promoteNext(batch, { thread: thread_id, destination }, at)
    } else restartClock.run(at, number)
    hurryLane.run(at, thread_id, destination)
    noteChange(batch, 'delivery', number)
    batch.readyWork.add('deliveries')
    return true
  }
}

function createDrop({ now }: StoreContext, { deliveries }: DeliveryControlDeps): Control {
  return (batch, row) => {
    if (row.state === 'dead' || row.state === 'dismissed') return false
    deliveries.giveUp(batch, row, 'dropped by the operator', now())
    return true
  }
}

/** The operator has seen a dead letter: it stays on record, and counts among the dead no more. */
function createDismiss({ db }: StoreContext): Control {
  const dismiss = db.prepare("UPDATE deliveries SET state = 'dismissed' WHERE number = ?")
  return (batch, { number, state }) => {
    if (state !== 'dead') return false
    dismiss.run(number)
    moveTotal(batch, 'deliveries.dead', 'deliveries.dismissed')
    noteChange(batch, 'delivery', number)
    return true
  }
}
