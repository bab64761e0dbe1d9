import type { ChannelName, DeliveryRecord, Json, OperatorStore } from '@postern/core'
import { isoTime } from '@postern/core'
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
  readonly message_id: string
  readonly wire: string | null
}

export interface DeliveryList extends Pick<OperatorStore, 'listDeliveries'> {
  ofMessage(number: number): readonly DeliveryRecord[]
}

const select = `SELECT d.number, m.channel, d.destination, d.state, d.attempt, d.last_error, d.due_at, d.lease_owner,
    m.native_id AS message_id, d.wire FROM deliveries d`
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
  return {
    ofMessage: number => ofMessage.all(number).map(toRecord),
    async listDeliveries({ state, limit, after = Number.MAX_SAFE_INTEGER }) {
      const rows = lists.get(state ?? 'all')?.all(after, limit) ?? []
      return rows.map(toRecord)
    },
  }
}

function toRecord(row: DeliveryRow): DeliveryRecord {
  const isWaiting = row.due_at !== null && row.lease_owner === null
  return {
    id: String(row.number),
    via: row.channel,
    to: row.destination,
    state: row.state,
    attempts: row.attempt,
    ...(row.last_error !== null && { last_error: row.last_error }),
    ...(isWaiting && { next_attempt_at: isoTime(row.due_at ?? 0) }),
    message_id: row.message_id,
    wire: row.wire === null ? null : parseJson<Json>(row.wire),
  }
}
