// Prepares INSERT statements that return the id of the new row.
import { DatabaseSync } from 'node:sqlite'
import type { Database, SqlValue } from './sql.ts'
import { sqlOf } from './sql.ts'

/**
 * Prepares an INSERT of one row that returns the id of the new row. SQLite reports the id of the last inserted row, and RETURNING would create a
 * temporary table at every run, which costs as much as the row.
 */
export function prepareInsert(db: Database, sql: string, id = 'id'): (...values: SqlValue[]) => number {
  if (db instanceof DatabaseSync || db.returnsLastInsertId) {
    const insert = db.prepare(sql)
    return (...values) => Number((insert.run(...values) as { readonly lastInsertRowid: number }).lastInsertRowid)
  }
  const insert = sqlOf(db).prepare<{ id: number }>(`${sql} RETURNING ${id} AS id`)
  return (...values) => {
    const row = insert.get(...values)
    if (!row) throw new Error('nothing was inserted')
    return row.id
  }
}
