import type {
  ChannelName,
  Delivery,
  DeliveryRecord,
  DeliveryTaker,
  DeliveryTicket,
  PlannedDelivery,
  Settlement,
  WorkStore,
} from '@postern/core'
import { findDestinationHost } from '@postern/core'
import type { Batch, Ownership, Sql } from '../engine/database.ts'
import {
  addToTotal,
  formatJson,
  moveTotal,
  noteChange,
  parseJson,
  prepareTold,
  refuseLostLease,
  rowLocksOf,
} from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { UnsureLeases } from '../engine/unsure-leases.ts'
import { createUnsureLeases } from '../engine/unsure-leases.ts'
import type { AnsweredWords, ResponseDraft } from '../messages/responses.ts'
import { readResponse } from '../messages/responses.ts'
import type { RelationTable } from '../peers/senders.ts'
import { touchedDelivery, touchedDestination } from '../together/touched.ts'
import type { Offer, Slot } from '../turns/turn-offer.ts'
import { createOffer } from '../turns/turn-offer.ts'

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
  /** What it brings, as far as it need not be read. */
  readonly atHand?: DeliveryWords | undefined
}

/** A message and its answer. */
interface DeliveryWords extends AnsweredWords {
  readonly response: ResponseDraft
}

type AnswerOffer = Offer<Delivery, DeliveryTicket, DeliveryTaker>
type DeliverySlot = Slot<Delivery, DeliveryTaker>

/** Deliveries for the worker of this process: those of an answer need no lease of their own. */
export interface DeliveryOffer
  extends Pick<WorkStore, 'offerDeliveries'>,
    Pick<AnswerOffer, 'keepSlot' | 'limitRequest' | 'hold'> {
  /** Leases that may have been written, by the answer, for the next look. */
  readonly unsure: UnsureLeases
}

export function createDeliveryOffer(db: Sql, { isAlone }: Ownership): DeliveryOffer {
  const { offer, ...slots } = createOffer<Delivery, DeliveryTicket, DeliveryTaker>({ isAlone })
  return {
    ...((isAlone || db.prepareCheck) && { offerDeliveries: offer }),
    ...slots,
    unsure: createUnsureLeases(db, { table: 'deliveries', number: 'response_seq' }),
  }
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

interface DeliveryTableDeps {
  readonly relations: Pick<RelationTable, 'has'>
  readonly deliveryOffer: Pick<DeliveryOffer, 'keepSlot' | 'unsure'>
}

/** An answer to more places is read once, by a look. */
const mostLeased = 8

export function createDeliveryTable(db: Sql, { relations, deliveryOffer }: DeliveryTableDeps): DeliveryTable {
  const insert = prepareInserts(db)
  const insertLeased = createLeasedInsert(db, deliveryOffer)
  const promote = db.prepare(
    `UPDATE deliveries SET due_at = ?1 WHERE number = (SELECT number FROM deliveries
       WHERE thread_id = ?2 AND destination = ?3 AND ended_at IS NULL AND due_at IS NULL ORDER BY number LIMIT 1)
     AND NOT EXISTS (SELECT 1 FROM deliveries WHERE thread_id = ?2 AND destination = ?3 AND ended_at IS NULL AND due_at > 0)`,
  )
  const end = db.prepare(
    "UPDATE deliveries SET state = 'dead', due_at = NULL, lease_owner = NULL, ended_at = ?, last_error = ? WHERE number = ?",
  )
  const isBlocking = ({ peer }: PlannedDelivery, { agent, channel: via }: NewDelivery) =>
    peer !== undefined && relations.has({ agent, via, relation: 'blocked_by', peer })
  const promoteNext: DeliveryTable['promoteNext'] = (batch, { thread, destination }, now) => {
    if (promote.run(now, thread, destination).changes > 0) batch.readyWork.add('deliveries')
  }
  function insertOne(batch: Batch, planned: PlannedDelivery, cause: NewDelivery): void {
    const state: NewState = isBlocking(planned, cause) ? 'dead' : planned.pulled ? 'sent' : 'queued'
    addToTotal(batch, `deliveries.${state}`)
    const slot = state === 'queued' && cause.atHand && deliveryOffer.keepSlot(batch, planned)
    if (slot) insertLeased(batch, { planned, cause, slot })
    else insertUnleased(batch, columnValues(planned, cause), state)
  }
  function insertUnleased(batch: Batch, values: ReturnType<typeof columnValues>, state: NewState): void {
    if (state !== 'queued') return void insert.ended.run(...values, state, ...endings[state])
    insert.queued.run(...values)
    batch.readyWork.add('deliveries')
  }
  return {
    queue(batch, planned, { atHand, ...cause }) {
      const few = planned.length <= mostLeased ? { ...cause, atHand } : cause
      for (const each of planned) insertOne(batch, each, few)
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

const newColumns = 'message, response_seq, thread_id, destination, target, queued_at, peer, host, broadcast'

/** One that may go waits for the others of its lane; one that is over from the beginning waits for nobody. */
function prepareInserts(db: Sql) {
  const queued = db.prepare(
    `INSERT INTO deliveries (${newColumns}, state, due_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'queued', CASE WHEN EXISTS
       (SELECT 1 FROM deliveries WHERE thread_id = ?3 AND destination = ?4 AND ended_at IS NULL) THEN NULL ELSE CAST(?6 AS INTEGER) END)`,
  )
  const ended = db.prepare(
    `INSERT INTO deliveries (${newColumns}, state, attempt, last_error, ended_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?6)`,
  )
  return { queued, ended }
}

interface LeasedDelivery {
  readonly planned: PlannedDelivery
  readonly cause: NewDelivery
  readonly slot: DeliverySlot
}

/** Inserts a delivery with its lease, unless others go before it; then it waits for them. */
function createLeasedInsert(db: Sql, { unsure }: Pick<DeliveryOffer, 'unsure'>) {
  const insert = prepareTold<{ number: number; lease_owner: string | null }>(
    db,
    `INSERT INTO deliveries (${newColumns}, state, due_at, lease_owner, lease_token, attempt)
     SELECT CAST(?1 AS INTEGER), CAST(?2 AS INTEGER), CAST(?3 AS INTEGER), ?4, ?5, CAST(?6 AS INTEGER), ?7, ?8, CAST(?9 AS INTEGER), 'queued',
       CASE WHEN goes = 1 THEN CAST(?10 AS INTEGER) END, CASE WHEN goes = 1 THEN ?11 END, goes, goes
     FROM (SELECT CASE WHEN EXISTS (SELECT 1 FROM deliveries WHERE thread_id = ?3 AND destination = ?4 AND ended_at IS NULL)
       THEN 0 ELSE 1 END AS goes) AS v RETURNING number, lease_owner`,
  )
  return (batch: Batch, { planned, cause, slot }: LeasedDelivery): void => {
    const { holder, leaseMs } = slot.taker
    const readRow = insert(...columnValues(planned, cause), cause.now + leaseMs, holder)
    batch.begins.push(() => {
      const row = readRow()
      if (row?.lease_owner) slot.begin(toNewDelivery(row.number, planned, cause))
    })
    if (cause.response !== undefined) {
      const lease = { number: cause.response, token: 1, holder, until: cause.now + leaseMs }
      batch.ifUnsure.push(() => unsure.add(lease))
    }
  }
}

function toNewDelivery(number: number, { to, target }: PlannedDelivery, cause: NewDelivery): Delivery {
  const { atHand, now, channel: via, agent, thread } = cause
  if (!atHand) throw new Error('a delivery without its words')
  const { readMessage, correlationId, response } = atHand
  const place = { id: String(number), token: 1, attempt: 1, queuedAt: now, via, agent, thread, to }
  return {
    ...place,
    target: parseJson(formatJson(target)),
    correlationId,
    message: readMessage(),
    ...readResponse(response),
  }
}

type NewState = 'queued' | keyof typeof endings

/** Tries, and the error, of deliveries that are over from the beginning. */
const endings = { sent: [1, null], dead: [0, 'the recipient has blocked this agent'] } as const

function columnValues({ to, target, peer }: PlannedDelivery, cause: NewDelivery) {
  const { message, response = null, thread, now, broadcast = null } = cause
  const host = findDestinationHost(to) ?? null
  return [message, response, thread, to, formatJson(target), now, peer ?? null, host, broadcast] as const
}

interface HeldDelivery {
  readonly state: DeliveryRecord['state']
  readonly thread_id: number
  readonly destination: string
  /** Another one of its order waits for it. */
  readonly is_awaited: 0 | 1
}

interface Outcome {
  readonly state: DeliveryRecord['state']
  readonly dueAt: number | null
  readonly endedAt: number | null
  readonly error: string | null
  readonly note: string | null
  /** Tries that do not count. */
  readonly uncounted: 0 | 1
}

/** How a try to deliver ended is booked here; a lane goes on behind a delivery that is over. */
export function createSettle(
  { db, write, writeLightly, now }: StoreContext,
  { deliveries }: { readonly deliveries: DeliveryTable },
): Pick<WorkStore, 'settle'> {
  const findHeld = db.prepare<HeldDelivery>(
    `SELECT state, thread_id, destination, EXISTS (SELECT 1 FROM deliveries o WHERE o.thread_id = d.thread_id
       AND o.destination = d.destination AND o.ended_at IS NULL AND o.due_at IS NULL) AS is_awaited
     FROM deliveries d WHERE number = ? AND lease_token = ? AND lease_owner IS NOT NULL ${rowLocksOf(db).wait}`,
  )
  const record = createRecorder(db)
  const recordAttempt = createAttemptRecorder(db)

  function settleDelivery(batch: Batch, delivery: Delivery, settlement: Settlement): number {
    const held = findHeld.get(Number(delivery.id), delivery.token)
    if (!held) return 0
    const at = now()
    record(Number(delivery.id), toOutcome(settlement, at), settlement.wire)
    recordAttempt(delivery, settlement)
    moveTotal(batch, `deliveries.${held.state}`, `deliveries.${settlement.state}`)
    noteChange(batch, 'delivery', Number(delivery.id))
    if (held.is_awaited) deliveries.promoteNext(batch, { thread: held.thread_id, destination: held.destination }, at)
    // Also for a time yet to come: whoever waits for the next due time has to look again.
    if (settlement.state === 'later') batch.readyWork.add('deliveries')
    return 1
  }

  return {
    async settle(delivery, settlement) {
      // A copy of a post for many that goes out once more after a power cut is the same document: peers know it again.
      const isCheap = delivery.broadcast !== undefined && settlement.state === 'sent'
      const { thread, to } = delivery
      const touches = () =>
        thread === undefined ? undefined : [touchedDelivery(delivery), touchedDestination(thread, to)]
      const settled = await (isCheap ? writeLightly : write)(batch => settleDelivery(batch, delivery, settlement), {
        touches,
      })
      refuseLostLease(settled, `delivery ${delivery.id}`)
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
    note: settlement.state === 'sent' ? (settlement.note ?? null) : null,
    uncounted: settlement.state === 'later' && settlement.uncounted ? 1 : 0,
  }
}

function createRecorder(db: Sql): (number: number, outcome: Outcome, wire: Settlement['wire']) => void {
  const update = db.prepare(
    `UPDATE deliveries SET state = ?, due_at = ?, ended_at = ?, last_error = coalesce(?, last_error), note = ?,
       wire = coalesce(?, wire), attempt = attempt - ?, lease_owner = NULL WHERE number = ?`,
  )
  return (number, { state, dueAt, endedAt, error, note, uncounted }, wire) => {
    const written = wire === undefined ? null : formatJson(wire)
    update.run(state, dueAt, endedAt, error, note, written, uncounted, number)
  }
}

/** Attempts kept of one delivery: the newest. */
const keptAttempts = 50

/** Longest text of a far side, or of an error, UTF-16 code units. */
const maxChars = 500

/** Books one attempt beside its delivery. One that was only put off is none. Synchronous: inside a write. */
function createAttemptRecorder(db: Sql): (delivery: Delivery, settlement: Settlement) => void {
  const insert = db.prepare(
    `INSERT INTO delivery_attempts (delivery, attempt, at, ms, outcome, status, reply_line, error, next_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  )
  const prune = db.prepare('DELETE FROM delivery_attempts WHERE delivery = ? AND attempt <= ?')
  return ({ id, attempt: number }, settlement) => {
    const { attempt, state } = settlement
    if (!attempt) return
    const { at, ms, status, reply_line } = attempt
    const error = settlement.state === 'sent' ? undefined : settlement.error
    const nextAt = settlement.state === 'later' ? settlement.dueAt : null
    const texts = [clip(reply_line), clip(error)] as const
    insert.run(Number(id), number, at, ms, state, status ?? null, ...texts, nextAt)
    if (number > keptAttempts) prune.run(Number(id), number - keptAttempts)
  }
}

function clip(text: string | undefined): string | null {
  return text === undefined ? null : text.slice(0, maxChars).toWellFormed()
}
