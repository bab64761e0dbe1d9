// Declares a database in a file of SQLite, whose statements run at once.
import type { SqlValue } from './sql.ts'

/** A database in a file of SQLite. `DatabaseSync` of Node is one. */
export interface FileDatabase {
  prepare(sql: string): {
    get(...values: SqlValue[]): unknown
    all(...values: SqlValue[]): unknown[]
    run(...values: SqlValue[]): unknown
  }
  exec(sql: string): void
  /** True while a transaction is open. */
  readonly isTransaction: boolean
  close(): void
}

/** A prepared statement of a file, with the shape of its rows. */
interface FileStatement<Row> {
  get(...values: SqlValue[]): Row | undefined
  all(...values: SqlValue[]): Row[]
  run(...values: SqlValue[]): { readonly changes: number; readonly lastInsertRowid: number }
}

/** A file whose statements declare the shape of their rows. */
export interface FileSql {
  prepare<Row = unknown>(sql: string): FileStatement<Row>
}

/** Returns the same file with typed statements. SQLite itself does not know the shape of its rows. */
export function fileSqlOf(db: Pick<FileDatabase, 'prepare'>): FileSql {
  return db as unknown as FileSql
}
