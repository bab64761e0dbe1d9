// Lists deliveries for operators.
import type { ChannelName, DeliveryAttempt, Json } from '@postern/message'
import { isoTime } from '@postern/message'
import type { DeliveryPage, DeliveryRecord, OperatorStore, TraceStore } from '@postern/pipeline'
import { formatJson, parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'

interface DeliveryRow {
  readonly number: number
  readonly channel: ChannelName
  readonly destination: string
  readonly state: DeliveryRecord['state']
  readonly attempt: number
  readonly last_error: string | null
  readonly due_at: number | null
  readonly lease_owner: string | null
  readonly queued_at: number
  readonly ended_at: number | null
  readonly message_id: string
  readonly wire: string | null
}

export interface DeliveryList extends Pick<OperatorStore, 'listDeliveries'>, Pick<TraceStore, 'findDelivery'> {
  listByMessage(number: number): Operation<readonly DeliveryRecord[]>
}

const select = `SELECT d.number, m.channel, d.destination, d.state, d.attempt, d.last_error, d.due_at, d.lease_owner,
    d.queued_at, d.ended_at, m.native_id AS message_id, d.wire FROM deliveries d`
const joinMessages = 'JOIN messages m ON m.seq = d.message'
const filters = `d.number < ?1 AND d.number >= ?2 AND (m.agent = ?4 OR ?4 IS NULL) AND (m.channel = ?5 OR ?5 IS NULL)
  AND (d.queued_at >= ?6 OR ?6 IS NULL) AND (d.queued_at < ?7 OR ?7 IS NULL)
  AND (instr(lower(d.destination || ' ' || coalesce(d.last_error, '')), lower(?8)) > 0 OR ?8 IS NULL)
  ORDER BY d.number DESC LIMIT +?9`
const selectPage = `${select} ${joinMessages} WHERE (d.state = ?3 OR ?3 IS NULL) AND ${filters}`
/** The page of dead deliveries uses the index of dead deliveries. */
const selectDeadPage = `${select} INDEXED BY deliveries_dead ${joinMessages} WHERE d.state = 'dead' AND d.state = ?3 AND ${filters}`

export function createDeliveryList(db: Sql): DeliveryList {
  const listByMessage = db.prepare<DeliveryRow>(`${select} ${joinMessages} WHERE d.message = ? ORDER BY d.number`)
  const list = db.prepare<DeliveryRow>(selectPage)
  const listDead = db.prepare<DeliveryRow>(selectDeadPage)
  const find = db.prepare<DeliveryRow>(`${select} ${joinMessages} WHERE d.number = ?`)
  const readAttempts = createAttemptReader(db)
  function* toRecords(rows: readonly DeliveryRow[]) {
    const attempts = yield* readAttempts(rows.map(({ number }) => number))
    return rows.map(row => toRecord(row, attempts.get(row.number)))
  }
  return {
    *listByMessage(number) {
      return yield* toRecords(yield* listByMessage.all(number))
    },
    findDelivery: id =>
      db.read(function* () {
        return /^\d{1,15}$/.test(id) ? (yield* toRecords(yield* find.all(Number(id))))[0] : undefined
      }),
    listDeliveries(page) {
      return db.read(function* () {
        const query = page.state === 'dead' ? listDead : list
        return yield* toRecords(yield* query.all(...filterValues(page)))
      })
    },
  }
}

function filterValues({ limit, after, floor, state, agent, channel, since, until, text }: DeliveryPage) {
  const period = [since, until].map(instant => (instant === undefined ? null : Date.parse(instant)))
  const bounds = [after ?? Number.MAX_SAFE_INTEGER, floor ?? 0]
  return [...bounds, state ?? null, agent ?? null, channel ?? null, ...period, text ?? null, limit]
}

function toRecord(row: DeliveryRow, attempts: readonly DeliveryAttempt[] = []): DeliveryRecord {
  const isWaiting = row.due_at !== null && row.lease_owner === null
  return {
    id: String(row.number),
    via: row.channel,
    to: row.destination,
    state: row.state,
    attempts: row.attempt,
    ...(row.last_error !== null && { last_error: row.last_error }),
    ...(isWaiting && { next_attempt_at: isoTime(row.due_at ?? 0) }),
    queued_at: isoTime(row.queued_at),
    ...(row.ended_at !== null && { ended_at: isoTime(row.ended_at) }),
    attempt_log: attempts,
    message_id: row.message_id,
    wire: row.wire === null ? null : parseJson<Json>(row.wire),
  }
}

interface AttemptRow extends Pick<DeliveryAttempt, 'attempt' | 'at' | 'ms' | 'outcome'> {
  readonly delivery: number
  readonly status: number | null
  readonly reply_line: string | null
  readonly error: string | null
  readonly next_at: number | null
}

/** Reads the attempts of these deliveries, the oldest first. The map has the numbers of the deliveries as keys. */
type ReadDeliveryAttempts = (
  deliveries: readonly number[],
) => Operation<ReadonlyMap<number, readonly DeliveryAttempt[]>>

function createAttemptReader(db: Sql): ReadDeliveryAttempts {
  const list = db.prepare<AttemptRow>(
    `SELECT delivery, attempt, at, ms, outcome, status, reply_line, error, next_at FROM delivery_attempts
     WHERE delivery IN (SELECT CAST(value AS INTEGER) FROM json_each(?)) ORDER BY delivery, attempt`,
  )
  return function* (deliveries) {
    const rows = deliveries.length === 0 ? [] : yield* list.all(formatJson(deliveries))
    const rowsByDelivery = Map.groupBy(rows, row => row.delivery)
    return new Map([...rowsByDelivery].map(([delivery, deliveryRows]) => [delivery, deliveryRows.map(toAttempt)]))
  }
}

function toAttempt({ delivery: _, status, reply_line, error, next_at, ...row }: AttemptRow): DeliveryAttempt {
  return {
    ...row,
    ...(status !== null && { status }),
    ...(reply_line !== null && { reply_line }),
    ...(error !== null && { error }),
    ...(next_at !== null && { next_at }),
  }
}
