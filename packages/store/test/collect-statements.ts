import { DatabaseSync } from 'node:sqlite'
import { vi } from 'vitest'
import { openSqliteDesk } from '../src/index.ts'
import { silentLog } from './open-test-desk.ts'

/** Every statement a desk prepares. */
export async function collectStatements(): Promise<readonly string[]> {
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
  const desk = await openSqliteDesk({ path: ':memory:', now: () => 0, log: silentLog })
  const statements = prepare.mock.calls.map(([sql]) => sql)
  prepare.mockRestore()
  await desk.close()
  return statements.filter(sql => /^\s*(SELECT|INSERT|UPDATE|DELETE)/.test(sql))
}
