// Collects the SQL statements that a store prepares.
import { DatabaseSync } from 'node:sqlite'
import { sketchedChannels } from '@postern/testing'
import { vi } from 'vitest'
import { assembleStore } from '../src/assemble.ts'
import { noBlobFiles } from '../src/files/blob-files.ts'
import { openSqliteStore } from '../src/index.ts'
import type { FileDatabase } from '../src/sql/file-sql.ts'
import type { Sql } from '../src/sql/sql.ts'
import { createSqliteSql } from '../src/sql/sqlite-sql.ts'
import { openDatabase } from '../src/sqlite/open-database.ts'
import { createWriter } from '../src/sqlite/write/writer.ts'
import { createNotices } from '../src/transaction/notice-hub.ts'
import { discardLog } from './open-test-store.ts'

/** Collects every query and row change that a store prepares on SQLite. */
export async function collectStatements(): Promise<readonly string[]> {
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
  const store = await openSqliteStore({ channels: sketchedChannels, path: ':memory:', now: () => 0, log: discardLog })
  const statements = prepare.mock.calls.map(([sql]) => sql)
  prepare.mockRestore()
  await store.close()
  return statements.filter(isOnRows)
}

/** Collects every query and row change that a store prepares on an engine other than SQLite. */
export async function collectPortedStatements(): Promise<readonly string[]> {
  const file = openDatabase(':memory:')
  const statements: string[] = []
  const port: FileDatabase = {
    prepare(sql) {
      statements.push(sql)
      return file.prepare(sql)
    },
    exec: sql => file.exec(sql),
    get isTransaction() {
      return file.isTransaction
    },
    close: () => file.close(),
  }
  const db = createSqliteSql(port)
  /** Prepares an insertion as an engine does that cannot report the id of the last row. */
  function prepareWithReturning(sql: string, id = 'id'): ReturnType<Sql['prepareInsert']> {
    const insert = db.prepare<{ readonly id: number }>(`${sql} RETURNING ${id} AS id`)
    return function* (...values) {
      const row = yield* insert.get(...values)
      if (!row) throw new Error('nothing was inserted')
      return row.id
    }
  }
  const store = assembleStore({
    db: { ...db, prepareInsert: prepareWithReturning },
    channels: sketchedChannels,
    handledSecret: 'secret',
    openWriter: hooks => createWriter(port, hooks),
    isSoleWriter: false,
    files: noBlobFiles,
    notices: createNotices(discardLog),
    now: () => 0,
    log: discardLog,
    bytes: undefined,
    onDurable() {},
    release: port.close,
  })
  await store.close()
  return statements.filter(isOnRows)
}

function isOnRows(sql: string): boolean {
  return /^\s*(SELECT|INSERT|UPDATE|DELETE)/.test(sql)
}
