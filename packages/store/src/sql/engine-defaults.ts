// Provides defaults for the optional members of a database engine.
import type { Database, RowLocks, SqlValue } from './sql.ts'
import { sqlOf } from './sql.ts'

/** The row locks of an engine to which only this process writes. They lock nothing. */
const noRowLocks: RowLocks = { skipLocked: '', wait: '', isFree: () => '1', isRunning: () => '1 = 0' }

/** Returns the SQL clauses with which statements lock rows. */
export function rowLocksOf(db: Database): RowLocks {
  return db.rowLocks ?? noRowLocks
}

/** Prepares a check for the end of the transaction. The check does nothing if only this process writes. */
export function prepareCheck(db: Database, sql: string): (...values: SqlValue[]) => void {
  return db.prepareCheck?.(sql) ?? (() => {})
}

/** Runs a query after an `await`. For an engine with a remote server, such a query is a new operation. */
export function readAfterWait<T>(db: Database, reading: () => T): T | Promise<T> {
  return db.read ? db.read(reading) : reading()
}

/** Prepares a statement that changes one row. A run returns a function that reads the new row. The caller calls this function after the transaction. */
export function prepareReturning<Row>(db: Database, sql: string): (...values: SqlValue[]) => () => Row | undefined {
  if (db.prepareReturning) return db.prepareReturning(sql) as ReturnType<typeof prepareReturning<Row>>
  const statement = sqlOf(db).prepare<Row>(sql)
  return (...values) => {
    const row = statement.get(...values)
    return () => row
  }
}

/** Runs several queries. A remote database receives their statements in shared round trips. */
export function readBatch<Readings extends readonly (() => unknown)[]>(
  db: Database,
  readings: readonly [...Readings],
): { readonly [At in keyof Readings]: ReturnType<Readings[At]> } {
  const values = db.readBatch ? db.readBatch(readings) : readings.map(read => read())
  return values as { readonly [At in keyof Readings]: ReturnType<Readings[At]> }
}
