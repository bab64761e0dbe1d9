import type { Delivery, DeliveryAttempt, Settlement } from '@postern/core'
import type { Database } from '../engine/database.ts'
import { formatJson, prepareQuery } from '../engine/database.ts'

/** Attempts kept of one delivery: the newest. */
const keptAttempts = 50

/** Longest text of a far side, or of an error, UTF-16 code units. */
const maxChars = 500

/** Books one attempt beside its delivery. One that was only put off is none. Synchronous: inside a write. */
export function createAttemptRecorder(db: Database): (delivery: Delivery, settlement: Settlement) => void {
  const insert = prepareQuery(
    db,
    `INSERT INTO delivery_attempts (delivery, attempt, at, ms, outcome, status, reply_line, error, next_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  )
  const prune = prepareQuery(db, 'DELETE FROM delivery_attempts WHERE delivery = ? AND attempt <= ?')
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

interface AttemptRow extends Pick<DeliveryAttempt, 'attempt' | 'at' | 'ms' | 'outcome'> {
  readonly delivery: number
  readonly status: number | null
  readonly reply_line: string | null
  readonly error: string | null
  readonly next_at: number | null
}

/** The attempts of these deliveries, oldest first, by the number of the delivery. */
type ReadDeliveryAttempts = (deliveries: readonly number[]) => ReadonlyMap<number, readonly DeliveryAttempt[]>

export function createAttemptReader(db: Database): ReadDeliveryAttempts {
  const list = prepareQuery<AttemptRow>(
    db,
    `SELECT delivery, attempt, at, ms, outcome, status, reply_line, error, next_at FROM delivery_attempts
     WHERE delivery IN (SELECT CAST(value AS INTEGER) FROM json_each(?)) ORDER BY delivery, attempt`,
  )
  return deliveries => {
    const rows = deliveries.length === 0 ? [] : list.all(formatJson(deliveries))
    const grouped = Map.groupBy(rows, row => row.delivery)
    return new Map([...grouped].map(([delivery, its]) => [delivery, its.map(toAttempt)]))
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
