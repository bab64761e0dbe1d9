// Implements the database of the store on a file of SQLite.
import type { FileDatabase } from './file-sql.ts'
import { fileSqlOf } from './file-sql.ts'
import { endedWith, runNow } from './operation.ts'
import type { RowLocks, Sql, SqlValue } from './sql.ts'

/** The row locks of a file to which only this process writes. */
const noRowLocks: RowLocks = { skipLocked: '', wait: '', isFree: () => '1', isRunning: () => '1 = 0' }

/** Returns a file as the database of a store. Its statements run at once, in this process. */
export function createSqliteSql(db: Pick<FileDatabase, 'prepare'>): Sql {
  const file = fileSqlOf(db)
  return {
    prepare<Row>(sql: string) {
      const statement = file.prepare<Row>(sql)
      return {
        get: (...values: SqlValue[]) => endedWith(statement.get(...values)),
        all: (...values: SqlValue[]) => endedWith(statement.all(...values)),
        run: (...values: SqlValue[]) => void statement.run(...values),
        change: (...values: SqlValue[]) => endedWith(statement.run(...values).changes),
      }
    },
    // SQLite reports the id of the last inserted row. RETURNING would create a temporary table at every run, which costs as much as the row.
    prepareInsert(sql) {
      const insert = file.prepare(sql)
      return (...values) => endedWith(Number(insert.run(...values).lastInsertRowid))
    },
    prepareReturning<Row>(sql: string) {
      const statement = file.prepare<Row>(sql)
      return (...values: SqlValue[]) => {
        const row = statement.get(...values)
        return () => row
      }
    },
    prepareCheck: () => () => {},
    hasEndChecks: false,
    rowLocks: noRowLocks,
    read: async operation => runNow(operation()),
  }
}
