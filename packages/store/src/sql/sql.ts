// Declares the database that the store needs, for any engine.
import type { Operation, OperationOrValue } from './operation.ts'

/** A value of a statement's parameter or column. */
export type SqlValue = null | number | string | Uint8Array

/** A prepared statement with the shape of its rows. */
export interface Query<Row = unknown> {
  get(...values: SqlValue[]): Operation<Row | undefined>
  all(...values: SqlValue[]): Operation<Row[]>
  /** Runs the statement, but does not wait for it. An error ends the transaction. */
  run(...values: SqlValue[]): void
  /** Runs the statement and returns the number of rows that it has changed. */
  change(...values: SqlValue[]): Operation<number>
}

/**
 * A database whose statements declare the shape of their rows. Prepare a statement once if it runs often. Write `LIMIT +?` instead of `LIMIT ?`, and
 * for messages `channel IN (?)` instead of `channel = ?`. Otherwise SQLite compiles the statement again at every run, because another value could lead
 * to another plan, such as the channel of a partial index.
 */
export interface Sql {
  prepare<Row = unknown>(sql: string): Query<Row>
  /** Prepares an INSERT of one row that returns the id of the new row. `id` is the name of its column, `id` by default. */
  prepareInsert(sql: string, id?: string): (...values: SqlValue[]) => Operation<number>
  /** Prepares a statement that changes one row. A run returns a function that reads the new row. The caller calls this function after the transaction. */
  prepareReturning<Row>(sql: string): (...values: SqlValue[]) => () => Row | undefined
  /**
   * Prepares a statement that returns `is_so`, for the end of a transaction. If `is_so` is false, the transaction is undone. It does nothing for an
   * engine with one writer.
   */
  prepareCheck(sql: string): (...values: SqlValue[]) => void
  /** True if the engine runs such checks, because several gateways may write. */
  readonly hasEndChecks: boolean
  /** The SQL clauses with which statements lock rows. */
  readonly rowLocks: RowLocks
  /** Runs an operation that only reads, on one snapshot. It may run again from its start if the connection is lost. */
  read<T>(operation: () => OperationOrValue<T>): Promise<T>
}

/** The SQL clauses and conditions that lock rows. They lock nothing if only this process writes. */
export interface RowLocks {
  /** The clause of a SELECT that locks its rows until the end of the transaction and skips rows that other transactions have locked. */
  readonly skipLocked: string
  /** The clause of a SELECT that locks its rows and waits for other transactions that have locked them. */
  readonly wait: string
  /** Returns the condition that no other transaction works on a thread. If it is true, it also locks the thread until the end of the transaction. */
  isFree(thread: string): string
  /** Returns the condition that the gateway with this name runs. */
  isRunning(holder: string): string
}
