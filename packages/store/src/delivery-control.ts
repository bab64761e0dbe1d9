import type { DeliveryRecord, OperatorDesk } from '@postern/core'
import type { Batch } from './batch.ts'
import { moveTotal } from './batch.ts'
import { prepareQuery } from './database.ts'
import type { Store } from './store.ts'
import type { Tables } from './tables.ts'

interface DeliveryRow {
  readonly number: number
  readonly thread_id: number
  readonly destination: string
  readonly state: DeliveryRecord['state']
}

type Control = (batch: Batch, row: DeliveryRow) => boolean

/** What an operator may do to a delivery. */
export function createDeliveryControl(
  store: Store,
  tables: Tables,
): Pick<OperatorDesk, 'retryDelivery' | 'dropDelivery'> {
  const { db, write } = store
  const find = prepareQuery<DeliveryRow>(
    db,
    'SELECT number, thread_id, destination, state FROM deliveries WHERE number = ?',
  )
  const run = (control: Control) => (id: string) =>
    write(batch => {
      const row = /^\d{1,15}$/.test(id) ? find.get(Number(id)) : undefined
      return row !== undefined && row.state !== 'sent' && control(batch, row)
    })
  return { retryDelivery: run(createRetry(store, tables)), dropDelivery: run(createDrop(store, tables)) }
}

function createRetry({ db, now }: Store, { deliveries }: Tables): Control {
  const revive = prepareQuery(
    db,
    "UPDATE deliveries SET state = 'queued', due_at = NULL, ended_at = NULL, queued_at = ? WHERE number = ?",
  )
  const restartClock = prepareQuery(db, 'UPDATE deliveries SET queued_at = ? WHERE number = ?')
  // Order is kept: whoever goes first in the lane goes at once. One that is being tried now stays with who tries it.
  const hurryLane = prepareQuery(
    db,
    `UPDATE deliveries SET due_at = ?1 WHERE thread_id = ?2 AND destination = ?3 AND ended_at IS NULL AND due_at > ?1
       AND holder IS NULL`,
  )
  return (batch, { number, thread_id, destination, state }) => {
    const at = now()
    if (state === 'dead') {
      revive.run(at, number)
      moveTotal(batch, 'deliveries.dead', 'deliveries.queued')
      deliveries.promoteNext(batch, { thread: thread_id, destination }, at)
    } else restartClock.run(at, number)
    hurryLane.run(at, thread_id, destination)
    batch.hasReadyWork = true
    return true
  }
}

function createDrop({ db, now }: Store, { deliveries }: Tables): Control {
  // Without a holder, whoever is trying it now cannot settle it any more.
  const drop = prepareQuery(
    db,
    `UPDATE deliveries SET state = 'dead', due_at = NULL, holder = NULL, ended_at = ?,
       last_error = 'dropped by the operator' WHERE number = ?`,
  )
  return (batch, { number, thread_id, destination, state }) => {
    if (state === 'dead') return false
    drop.run(now(), number)
    moveTotal(batch, `deliveries.${state}`, 'deliveries.dead')
    deliveries.promoteNext(batch, { thread: thread_id, destination }, now())
    return true
  }
}
