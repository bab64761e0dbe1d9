import { DatabaseSync } from 'node:sqlite'
import { vi } from 'vitest'
import { assembleDesk } from '../src/assemble.ts'
import { noBlobFiles } from '../src/blob-files.ts'
import type { Database } from '../src/database.ts'
import { openSqliteDesk } from '../src/index.ts'
import { createNotices } from '../src/notices.ts'
import { openDatabase } from '../src/sqlite.ts'
import { createSqliteTransactions } from '../src/transactions.ts'
import { silentLog } from './open-test-desk.ts'

/** Every statement a desk prepares on SQLite. */
export async function collectStatements(): Promise<readonly string[]> {
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
  const desk = await openSqliteDesk({ path: ':memory:', now: () => 0, log: silentLog })
  const statements = prepare.mock.calls.map(([sql]) => sql)
  prepare.mockRestore()
  await desk.close()
  return statements.filter(isOnRows)
}

/** Every statement a desk prepares on an engine that is not SQLite itself. */
export async function collectPortedStatements(): Promise<readonly string[]> {
  const db = openDatabase(':memory:')
  const statements: string[] = []
  const port: Database = {
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
  const desk = assembleDesk({
    db: port,
    transactions: createSqliteTransactions(port),
    files: noBlobFiles,
    notices: createNotices(silentLog),
    now: () => 0,
    log: silentLog,
    bytes: undefined,
    onDurable() {},
    release() {},
  })
  await desk.close()
  return statements.filter(isOnRows)
}

function isOnRows(sql: string): boolean {
  return /^\s*(SELECT|INSERT|UPDATE|DELETE)/.test(sql)
}
