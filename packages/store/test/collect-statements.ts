// Collects the SQL statements that a store prepares.
import { DatabaseSync } from 'node:sqlite'
import { sketchedChannels } from '@postern/testing'
import { vi } from 'vitest'
import { assembleStore } from '../src/assemble.ts'
import { noBlobFiles } from '../src/files/blob-files.ts'
import { openSqliteStore } from '../src/index.ts'
import type { FileDatabase } from '../src/sql/sql.ts'
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
  const db = openDatabase(':memory:')
  const statements: string[] = []
  const port: FileDatabase = {
    prepare(sql) {
      statements.push(sql)
      return db.prepare(sql)
    },
    exec: sql => db.exec(sql),
    get isTransaction() {
      return db.isTransaction
    },
    close: () => db.close(),
  }
  const store = assembleStore({
    db: port,
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
