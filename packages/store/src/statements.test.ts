import { constants, DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { collectStatements } from '../test/collect-statements.ts'
import { migrateDatabase } from './schema/migrate.ts'

function countParameters(sql: string): number {
  const parameters = [...sql.replace(/'[^']*'/g, '').matchAll(/\?(\d*)/g)].map(([, number]) => Number(number))
  return Math.max(parameters.length, ...parameters)
}

/** Counts the calls of the authorizer, which SQLite makes whenever it compiles a statement. */
function watchCompiling(db: DatabaseSync): () => number {
  let asked = 0
  db.setAuthorizer(() => {
    asked += 1
    return constants.SQLITE_OK
  })
  return () => asked
}

test('SQLite does not recompile a statement for another parameter value', async () => {
  const db = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false })
  migrateDatabase(db)
  const countAsked = watchCompiling(db)
  const isCompiledAnew = (sql: string) => {
    const statement = db.prepare(sql)
    const before = countAsked()
    for (const value of ['x', 'web', 1]) {
      try {
        statement.all(...Array<string | number>(countParameters(sql)).fill(value))
      } catch {
        // The statement rejects the value, but it has been compiled by then.
      }
    }
    return countAsked() > before
  }
  const statements = await collectStatements()
  expect(statements.length).toBeGreaterThan(40)
  expect(isCompiledAnew("SELECT 1 FROM messages WHERE kind = 'message' AND thread_id = 1 AND channel = ?")).toBe(true)
  expect(statements.filter(isCompiledAnew)).toEqual([])
})
