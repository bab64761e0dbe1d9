// Maps the errors of an open database to errors of the store, and reports damage.
import type { DatabaseSync } from 'node:sqlite'
import type { FileDatabase } from '../sql/file-sql.ts'
import type { SqlValue } from '../sql/sql.ts'
import { isDamage, toStoreError } from './write/sqlite-errors.ts'

interface StatementHooks {
  /** Runs if a statement has found damage in the file. */
  onDamage(error: unknown): void
  /** Runs after each statement. An error that it throws becomes the error of the statement. */
  afterStatement?(): void
}

/** Wraps a database file, so that errors of its statements become errors of the store. */
export function guardDatabase(db: DatabaseSync, { onDamage, afterStatement }: StatementHooks): FileDatabase {
  function guard<Args extends unknown[], T>(work: (...args: Args) => T): (...args: Args) => T {
    return (...args) => {
      try {
        const result = work(...args)
        afterStatement?.()
        return result
      } catch (error) {
        if (isDamage(error)) onDamage(error)
        throw toStoreError(error)
      }
    }
  }

  return {
    prepare: guard((sql: string) => {
      const statement = db.prepare(sql)
      return {
        get: guard((...values: SqlValue[]) => statement.get(...values)),
        all: guard((...values: SqlValue[]) => statement.all(...values)),
        run: guard((...values: SqlValue[]) => statement.run(...values)),
      }
    }),
    exec: guard((sql: string) => db.exec(sql)),
    get isTransaction() {
      return db.isTransaction
    },
    close: () => db.close(),
  }
}
