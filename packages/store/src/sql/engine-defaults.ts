// Replaces the optional members of an engine that lacks them.
import type { Database, RowLocks, SqlValue } from './sql.ts'
import { sqlOf } from './sql.ts'

/** Row locks of an engine that only this process writes. */
const noRowLocks: RowLocks = { skipLocked: '', wait: '', isFree: () => '1', isRunning: () => '1 = 0' }

/** Returns the parts of SQL with which statements lock rows. */
export function rowLocksOf(db: Database): RowLocks {
  return db.rowLocks ?? noRowLocks
}

/** Prepares a check for the end of the transaction. It does nothing where only this process writes. */
export function prepareCheck(db: Database, sql: string): (...values: SqlValue[]) => void {
  return db.prepareCheck?.(sql) ?? (() => {})
}

/** Reads after a wait. Such a reading is a new operation for an engine with a remote server. */
export function readAfterWait<T>(db: Database, reading: () => T): T | Promise<T> {
  return db.read ? db.read(reading) : reading()
}

/** Prepares a statement that changes one row and returns a function that reads the new row. Call that function after the transaction. */
export function prepareReturning<Row>(db: Database, sql: string): (...values: SqlValue[]) => () => Row | undefined {
  if (db.prepareReturning) return db.prepareReturning(sql) as ReturnType<typeof prepareReturning<Row>>
  const statement = sqlOf(db).prepare<Row>(sql)
  return (...values) => {
    const row = statement.get(...values)
    return () => row
  }
}

/** Runs several readings. A remote database gets their statements in shared round trips. */
export function readBatch<Readings extends readonly (() => unknown)[]>(
  db: Database,
  readings: readonly [...Readings],
): { readonly [At in keyof Readings]: ReturnType<Readings[At]> } {
  const values = db.readBatch ? db.readBatch(readings) : readings.map(read => read())
  return values as { readonly [At in keyof Readings]: ReturnType<Readings[At]> }
}
