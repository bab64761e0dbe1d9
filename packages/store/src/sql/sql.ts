// Declares the database engine that the store needs.
/** A value of a statement's parameter or column. */
export type SqlValue = null | number | string | Uint8Array

/** A prepared statement and the shape of the rows it yields. */
export interface Query<Row = unknown> {
  get(...values: SqlValue[]): Row | undefined
  all(...values: SqlValue[]): Row[]
  run(...values: SqlValue[]): { readonly changes: number }
}

/**
 * The database engine that the store needs. `node:sqlite` is one without a wrapper: statements run at once, within this process. With a remote server
 * a statement runs within an operation (of the writer, or of `read`), and the operation runs again with each answer.
 */
export interface Database {
  prepare(sql: string): {
    get(...values: SqlValue[]): unknown
    all(...values: SqlValue[]): unknown[]
    run(...values: SqlValue[]): unknown
  }
  /** Runs a reading on one snapshot. Engines whose statements run at once have no such member. */
  read?<T>(reading: () => T): Promise<T>
  /** Runs readings within an operation, each as if it were alone. Without this member they run one after another. */
  readBatch?<T>(readings: readonly (() => T)[]): readonly T[]
  /** Prepares a statement that returns `is_so`; a transaction in which `is_so` is false is undone. Only engines with several writers have it. */
  prepareCheck?(sql: string): (...values: SqlValue[]) => void
  /** Prepares a statement as the function `prepareReturning` does, for a remote server. */
  prepareReturning?(sql: string): (...values: SqlValue[]) => () => unknown
  /** Parts of SQL with which a statement locks rows, where several processes write. */
  readonly rowLocks?: RowLocks
  /** True if the result of an INSERT has `lastInsertRowid`. */
  readonly returnsLastInsertId?: boolean
}

/**
 * A database whose statements declare the shape of their rows. Prepare a statement once if it runs often. Write `LIMIT +?`, never `LIMIT ?`, and for
 * messages `via IN (?)`, never `via = ?`: SQLite compiles a statement again at every run if another value could lead to another plan, such as
 * the `via` of a partial index.
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

/** Parts of SQL that lock rows. */
export interface RowLocks {
  /** The suffix of a SELECT that locks its rows until the end of the transaction and skips rows that others have locked. */
  readonly skipLocked: string
  /** The suffix of a SELECT that locks its rows and waits for others that have locked them. */
  readonly wait: string
  /** Returns a condition that is true if no other transaction works on a thread. It keeps others away until the end of the transaction. */
  isFree(thread: string): string
  /** Returns a condition that is true if the gateway of this name runs. */
  isRunning(holder: string): string
}
