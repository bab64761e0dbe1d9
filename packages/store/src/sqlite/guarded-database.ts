import type { DatabaseSync } from 'node:sqlite'
import type { FileDatabase, SqlValue } from '../engine/database.ts'
import { isDamage, toStoreError } from '../engine/sqlite-errors.ts'

/** The file as the store works with it: whatever statement finds it damaged, `onDamage` is told, and errors are the store's. */
export function guardDatabase(db: DatabaseSync, onDamage: (error: unknown) => void): FileDatabase {
  function guard<Args extends unknown[], T>(work: (...args: Args) => T): (...args: Args) => T {
    return (...args) => {
      try {
        return work(...args)
      } catch (error) {
        if (isDamage(error)) onDamage(error)
        throw toStoreError(error)
      }
    }
  }

  return {
    knowsLastInsert: true,
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
