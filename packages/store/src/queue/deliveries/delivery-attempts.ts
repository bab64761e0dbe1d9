// Records the attempts of a delivery.
import type { Delivery, Settlement } from '@postern/pipeline'
import type { Sql } from '../../sql/sql.ts'

/** The maximum number of stored attempts of one delivery. */
const maxStoredAttempts = 50

/** The maximum length of a reply or an error in UTF-16 code units. */
const maxChars = 500

/** Prepares the insertion of an attempt, inside a write. A postponement is no attempt and is not stored. */
export function createAttemptRecorder(db: Sql): (delivery: Delivery, settlement: Settlement) => void {
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
    if (number > maxStoredAttempts) prune.run(Number(id), number - maxStoredAttempts)
  }
}

function clip(text: string | undefined): string | null {
  return text === undefined ? null : text.slice(0, maxChars).toWellFormed()
}
