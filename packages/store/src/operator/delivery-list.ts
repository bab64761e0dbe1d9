import type { ChannelName, DeliveryAttempt, DeliveryRecord, Json, OperatorStore, TraceStore } from '@postern/core'
import { isoTime } from '@postern/core'
import { createAttemptReader } from '../deliveries/attempts.ts'
import type { Database } from '../engine/database.ts'
import { parseJson, prepareQuery } from '../engine/database.ts'

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
  ofMessage(number: number): readonly DeliveryRecord[]
}

const select = `SELECT d.number, m.channel, d.destination, d.state, d.attempt, d.last_error, d.due_at, d.lease_owner,
    d.queued_at, d.ended_at, m.native_id AS message_id, d.wire FROM deliveries d`
const joined = 'JOIN messages m ON m.seq = d.message'
const newest = 'AND d.number < ? ORDER BY d.number DESC LIMIT +?'

/** Which index finds the newest of a state: open ones are few, dead ones have their own, sent ones are nearly all. */
const listings = {
  queued: `${select} INDEXED BY deliveries_open ${joined} WHERE d.ended_at IS NULL AND d.state = 'queued' ${newest}`,
  later: `${select} INDEXED BY deliveries_open ${joined} WHERE d.ended_at IS NULL AND d.state = 'later' ${newest}`,
  dead: `${select} INDEXED BY deliveries_dead ${joined} WHERE d.state = 'dead' ${newest}`,
  dismissed: `${select} ${joined} WHERE d.state = 'dismissed' ${newest}`,
  sent: `${select} ${joined} WHERE d.state = 'sent' ${newest}`,
  all: `${select} ${joined} WHERE true ${newest}`,
} as const

export function createDeliveryList(db: Database): DeliveryList {
  const ofMessage = prepareQuery<DeliveryRow>(db, `${select} ${joined} WHERE d.message = ? ORDER BY d.number`)
  const lists = new Map(Object.entries(listings).map(([name, sql]) => [name, prepareQuery<DeliveryRow>(db, sql)]))
  const find = prepareQuery<DeliveryRow>(db, `${select} ${joined} WHERE d.number = ?`)
  const readAttempts = createAttemptReader(db)
  const toRecords = (rows: readonly DeliveryRow[]) => {
    const attempts = readAttempts(rows.map(({ number }) => number))
    return rows.map(row => toRecord(row, attempts.get(row.number)))
  }
  return {
    ofMessage: number => toRecords(ofMessage.all(number)),
    findDelivery: async id => (/^\d{1,15}$/.test(id) ? toRecords(find.all(Number(id)))[0] : undefined),
    async listDeliveries({ state, limit, after = Number.MAX_SAFE_INTEGER }) {
      const rows = lists.get(state ?? 'all')?.all(after, limit) ?? []
      return toRecords(rows)
    },
  }
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
