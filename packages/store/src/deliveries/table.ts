import type { ChannelName, DeliveryRecord, PlannedDelivery } from '@postern/core'
import { findDestinationHost } from '@postern/core'
import type { Batch, Database } from '../engine/database.ts'
import { addToTotal, formatJson, moveTotal, noteChange, prepareQuery } from '../engine/database.ts'
import type { RelationTable } from '../peers/senders.ts'

export interface NewDelivery {
  readonly message: number
  /** Absent for a handshake. */
  readonly response: number | undefined
  readonly thread: number
  /** Whose, and by which channel. */
  readonly agent: string
  readonly channel: ChannelName
  readonly now: number
  /** Of which broadcast it is a part. */
  readonly broadcast?: number | undefined
}

/** Deliveries to one destination in one thread. */
interface DestinationOrder {
  readonly thread: number
  readonly destination: string
}

/** The order of deliveries to one destination in one thread: one open delivery may go, the others wait for it. */
export interface DeliveryTable {
  queue(batch: Batch, planned: readonly PlannedDelivery[], cause: NewDelivery): void
  /** To be called when a delivery has ended or may go again: unless another one may go, the first of the lane may. */
  promoteNext(batch: Batch, lane: DestinationOrder, now: number): void
  /** Ends an open delivery for good: whoever is trying it now cannot settle it any more. Its lane goes on. */
  giveUp(batch: Batch, open: OpenDelivery, error: string, now: number): void
}

export interface OpenDelivery {
  readonly number: number
  readonly thread_id: number
  readonly destination: string
  readonly state: DeliveryRecord['state']
}

export function createDeliveryTable(db: Database, relations: Pick<RelationTable, 'has'>): DeliveryTable {
  const insert = prepareInserts(db)
  const promote = prepareQuery(
    db,
    `UPDATE deliveries SET due_at = ?1 WHERE number = (SELECT number FROM deliveries
       WHERE thread_id = ?2 AND destination = ?3 AND ended_at IS NULL AND due_at IS NULL ORDER BY number LIMIT 1)
     AND NOT EXISTS (SELECT 1 FROM deliveries WHERE thread_id = ?2 AND destination = ?3 AND ended_at IS NULL AND due_at > 0)`,
  )
  const end = prepareQuery(
    db,
    "UPDATE deliveries SET state = 'dead', due_at = NULL, lease_owner = NULL, ended_at = ?, last_error = ? WHERE number = ?",
  )
  const isBlocking = ({ peer }: PlannedDelivery, { agent, channel: via }: NewDelivery) =>
    peer !== undefined && relations.has({ agent, via, relation: 'blocked_by', peer })
  const promoteNext: DeliveryTable['promoteNext'] = (batch, { thread, destination }, now) => {
    if (promote.run(now, thread, destination).changes > 0) batch.readyWork.add('deliveries')
  }
  function insertOne(batch: Batch, planned: PlannedDelivery, cause: NewDelivery): void {
    const state = isBlocking(planned, cause) ? 'dead' : planned.pulled ? 'sent' : 'queued'
    const values = columnValues(planned, cause)
    if (state === 'queued') insert.queued.run(...values)
    else insert.ended.run(...values, state, ...endings[state])
    addToTotal(batch, `deliveries.${state}`)
    if (state === 'queued') batch.readyWork.add('deliveries')
  }
  return {
    queue(batch, planned, cause) {
      for (const each of planned) insertOne(batch, each, cause)
    },
    promoteNext,
    giveUp(batch, { number, thread_id, destination, state }, error, now) {
      end.run(now, error, number)
      moveTotal(batch, `deliveries.${state}`, 'deliveries.dead')
      noteChange(batch, 'delivery', number)
      promoteNext(batch, { thread: thread_id, destination }, now)
    },
  }
}

/** One that may go waits for the others of its lane; one that is over from the beginning waits for nobody. */
function prepareInserts(db: Database) {
  const columns = 'message, response_seq, thread_id, destination, target, queued_at, peer, host, broadcast'
  const queued = prepareQuery(
    db,
    `INSERT INTO deliveries (${columns}, state, due_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'queued', CASE WHEN EXISTS
       (SELECT 1 FROM deliveries WHERE thread_id = ?3 AND destination = ?4 AND ended_at IS NULL) THEN NULL ELSE CAST(?6 AS INTEGER) END)`,
  )
  const ended = prepareQuery(
    db,
    `INSERT INTO deliveries (${columns}, state, attempt, last_error, ended_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?6)`,
  )
  return { queued, ended }
}

/** Tries, and the error, of deliveries that are over from the beginning. */
const endings = { sent: [1, null], dead: [0, 'the recipient has blocked this agent'] } as const

function columnValues({ to, target, peer }: PlannedDelivery, cause: NewDelivery) {
  const { message, response = null, thread, now, broadcast = null } = cause
  const host = findDestinationHost(to) ?? null
  return [message, response, thread, to, formatJson(target), now, peer ?? null, host, broadcast] as const
}
