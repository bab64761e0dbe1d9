import type { DatabaseSync } from 'node:sqlite'
import type { PlannedDelivery } from '@postern/core'
import type { Batch } from './batch.ts'
import { addToTotal } from './batch.ts'
import { formatJson, prepareQuery } from './database.ts'

export interface NewDelivery {
  readonly message: number
  /** Absent for a handshake. */
  readonly response: number | undefined
  readonly thread: number
  readonly now: number
}

/** Deliveries to one destination in one thread. */
export interface Lane {
  readonly thread: number
  readonly destination: string
}

/** The order of deliveries within a lane: one open delivery may go, the others wait for it. */
export interface DeliveryTable {
  queue(batch: Batch, planned: readonly PlannedDelivery[], cause: NewDelivery): void
  /** To be called when a delivery has ended or may go again: unless another one may go, the first of the lane may. */
  promoteNext(batch: Batch, lane: Lane, now: number): void
}

export function createDeliveryTable(db: DatabaseSync): DeliveryTable {
  const insert = prepareQuery(
    db,
    `INSERT INTO deliveries (message, response_seq, thread_id, destination, target, state, due_at, queued_at)
     VALUES (?1, ?2, ?3, ?4, ?5, 'queued', CASE WHEN EXISTS
       (SELECT 1 FROM deliveries WHERE thread_id = ?3 AND destination = ?4 AND ended_at IS NULL) THEN NULL ELSE ?6 END, ?6)`,
  )
  const insertPulled = prepareQuery(
    db,
    `INSERT INTO deliveries
       (message, response_seq, thread_id, destination, target, state, attempt, queued_at, ended_at)
     VALUES (?1, ?2, ?3, ?4, ?5, 'sent', 1, ?6, ?6)`,
  )
  const findGoing = prepareQuery(
    db,
    'SELECT 1 FROM deliveries WHERE thread_id = ? AND destination = ? AND ended_at IS NULL AND due_at > 0 LIMIT 1',
  )
  const promote = prepareQuery(
    db,
    `UPDATE deliveries SET due_at = ?1 WHERE number = (SELECT number FROM deliveries
       WHERE thread_id = ?2 AND destination = ?3 AND ended_at IS NULL AND due_at IS NULL ORDER BY number LIMIT 1)`,
  )
  return {
    queue(batch, planned, { message, response, thread, now }) {
      for (const { to, target, pulled } of planned) {
        const values = [message, response ?? null, thread, to, formatJson(target), now] as const
        if (pulled) insertPulled.run(...values)
        else insert.run(...values)
        addToTotal(batch, pulled ? 'deliveries.sent' : 'deliveries.queued')
        if (!pulled) batch.hasReadyWork = true
      }
    },
    promoteNext(batch, { thread, destination }, now) {
      if (findGoing.get(thread, destination)) return
      if (promote.run(now, thread, destination).changes > 0) batch.hasReadyWork = true
    },
  }
}
