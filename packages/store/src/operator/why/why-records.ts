// Reads records that explain a message.
import type { DeliveryReason } from '@postern/message'
import type { DeliveryRecord, RequirementStatus, WhyDelivery, WhyRecord, WhyStore } from '@postern/pipeline'
import { formatJson } from '../../sql/json-columns.ts'
import type { Sql } from '../../sql/sql.ts'
import type { StoreContext } from '../../transaction/store-context.ts'
import { createDowntimeList } from './gateway-runs.ts'
import type { WhyMessage } from './message-rows.ts'
import { createWhyMessageReader } from './message-rows.ts'

/** The maximum number of messages in a list, and the maximum number of deliveries and of requirements of one message. */
const [maxRecords, maxPerMessage] = [500, 20]

interface RowOfMessage {
  readonly message: number
}

/** Creates the query for records. It needs four statements for any number of records. */
export function createWhyRecords(context: StoreContext): Pick<WhyStore, 'listWhyRecords'> {
  const { db, now } = context
  const readMessages = createWhyMessageReader(db)
  const readDeliveries = createDeliveryReader(db)
  const readRequirements = createRequirementReader(db)
  const readDowntimes = createDowntimeList(context)
  return {
    listWhyRecords(numbers) {
      return db.read(function* () {
        const rows = yield* readMessages(formatJson(numbers.slice(0, maxRecords)))
        const leaders = formatJson([...new Set(rows.map(leaderOf))])
        const deliveries = groupByMessage(yield* readDeliveries(leaders))
        const requirements = groupByMessage(yield* readRequirements(leaders, now()))
        const downtimes = yield* readDowntimes()
        const records = new Map(
          rows.map(row => {
            const record: WhyRecord = {
              ...row,
              deliveries: (deliveries.get(leaderOf(row)) ?? []).map(({ row: delivery }) => delivery),
              requirements: (requirements.get(leaderOf(row)) ?? []).map(({ row: requirement }) => requirement),
              downtimes: downtimes.filter(({ to }) => to >= (row.message.sentAt ?? row.message.receivedAt)),
            }
            return [row.message.number, record] as const
          }),
        )
        return numbers.flatMap(number => records.get(number) ?? [])
      })
    },
  }
}

/** Returns the message whose turn answers this message. */
function leaderOf({ message, turn }: WhyMessage): number {
  return turn?.mergedInto ?? message.number
}

function groupByMessage<Row extends RowOfMessage>(rows: readonly Row[]): ReadonlyMap<number, readonly Row[]> {
  const groups = new Map<number, Row[]>()
  for (const row of rows) {
    const group = groups.get(row.message) ?? []
    groups.set(row.message, group)
    if (group.length < maxPerMessage) group.push(row)
  }
  return groups
}

interface DeliveryRow extends RowOfMessage {
  readonly number: number
  readonly destination: string
  readonly state: DeliveryRecord['state']
  readonly attempt: number
  readonly queued_at: number
  readonly due_at: number | null
  readonly lease_owner: string | null
  readonly ended_at: number | null
  readonly last_error: string | null
  readonly reason: DeliveryReason | null
  readonly note: string | null
  readonly response_seq: number | null
}

function createDeliveryReader(db: Sql) {
  const find = db.prepare<DeliveryRow>(
    `SELECT number, message, destination, state, attempt, queued_at, due_at, lease_owner, ended_at, last_error, reason, note, response_seq
     FROM deliveries WHERE message IN (SELECT CAST(value AS INTEGER) FROM json_each(?)) AND broadcast IS NULL LIMIT 5000`,
  )
  return function* (messages: string) {
    return (yield* find.all(messages))
      .toSorted((a, b) => a.number - b.number)
      .map(row => ({ message: row.message, row: toDelivery(row) }))
  }
}

function toDelivery(row: DeliveryRow): WhyDelivery {
  return {
    number: row.number,
    message: row.message,
    to: row.destination,
    state: row.state,
    attempts: row.attempt,
    queuedAt: row.queued_at,
    isLeased: row.lease_owner !== null,
    isAnswer: row.response_seq !== null,
    ...(row.due_at !== null && { dueAt: row.due_at }),
    ...(row.ended_at !== null && { endedAt: row.ended_at }),
    ...(row.last_error !== null && { error: row.last_error }),
    ...(row.reason !== null && { reason: row.reason }),
    ...(row.note !== null && { note: row.note }),
  }
}

interface RequirementRow extends RowOfMessage {
  readonly id: string
  readonly kind: string
  readonly status: RequirementStatus
  readonly subject: string
  readonly address: string
  readonly issued_at: number
  readonly expires_at: number
  readonly resolved_at: number | null
}

function createRequirementReader(db: Sql) {
  const find = db.prepare<RequirementRow>(
    `SELECT id, message, kind, CASE WHEN status = 'open' AND expires_at <= ? THEN 'expired' ELSE status END AS status, subject, address,
       issued_at, expires_at, resolved_at
     FROM requirements WHERE message IN (SELECT CAST(value AS INTEGER) FROM json_each(?)) LIMIT 5000`,
  )
  return function* (messages: string, now: number) {
    return (yield* find.all(now, messages))
      .toSorted((a, b) => a.issued_at - b.issued_at)
      .map(row => ({ message: row.message, row: toRequirement(row) }))
  }
}

function toRequirement(row: RequirementRow): WhyRecord['requirements'][number] {
  return {
    id: row.id,
    kind: row.kind,
    status: row.status,
    isForOperator: row.subject === 'operator',
    address: row.address,
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
    ...(row.resolved_at !== null && { resolvedAt: row.resolved_at }),
  }
}
