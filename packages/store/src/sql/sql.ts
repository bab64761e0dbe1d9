// Declares the database engine that the store needs.
/** A value of a statement's parameter or column. */
export type SqlValue = null | number | string | Uint8Array

/** A prepared statement with the shape of its rows. */
export interface Query<Row = unknown> {
  get(...values: SqlValue[]): Row | undefined
  all(...values: SqlValue[]): Row[]
  run(...values: SqlValue[]): { readonly changes: number }
}

/**
 * The database engine that the store needs. `node:sqlite` is such an engine without a wrapper, whose statements run at once in this process. With a
 * remote server, a statement runs inside an operation of the writer or of `read`, and the operation runs again after each result.
 */
export interface Database {
  prepare(sql: string): {
    get(...values: SqlValue[]): unknown
    all(...values: SqlValue[]): unknown[]
    run(...values: SqlValue[]): unknown
  }
  /** Runs a query on one snapshot. Engines whose statements run at once have no such member. */
  read?<T>(reading: () => T): Promise<T>
  /** Runs independent queries inside an operation, in shared round trips. Without this member they run one after another. */
  readBatch?<T>(readings: readonly (() => T)[]): readonly T[]
  /** Prepares a statement that returns `is_so`. If `is_so` is false, the transaction is undone. Only engines with several writers have this member. */
  prepareCheck?(sql: string): (...values: SqlValue[]) => void
  /** Prepares a statement as the function `prepareReturning` does, for a remote server. */
  prepareReturning?(sql: string): (...values: SqlValue[]) => () => unknown
  /** The SQL clauses with which statements lock rows, if several processes write. */
  readonly rowLocks?: RowLocks
  /** True if the result of an INSERT has `lastInsertRowid`. */
  readonly returnsLastInsertId?: boolean
}

/**
 * A database whose statements declare the shape of their rows. Prepare a statement once if it runs often. Write `LIMIT +?` instead of `LIMIT ?`, and
 * for messages `channel IN (?)` instead of `channel = ?`. Otherwise SQLite compiles the statement again at every run, because another value could lead
 * to another plan, such as the channel of a partial index.
 */
export interface Sql extends Omit<Database, 'prepare'> {
  prepare<Row = unknown>(sql: string): Query<Row>
}

/** Returns the same database with typed statements. The engine itself does not know the shape of its rows. */
export function sqlOf(db: Database): Sql {
  return db as unknown as Sql
}

/** A database in a file of SQLite. */
export interface FileDatabase extends Database {
  exec(sql: string): void
  /** True while a transaction is open. */
  readonly isTransaction: boolean
  close(): void
}

/** The SQL clauses and conditions that lock rows. */
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
