// Runs the soundness checks on PostgreSQL.
import { translateQuery } from '../../src/postgres/sql/translate-query.ts'
import { checks } from '../soundness.ts'
import type { FindUnsound } from '../soundness-model.ts'
import { askServer } from './test-server.ts'

/** Creates the search for unsound rows, with the checks for SQLite translated to PostgreSQL. */
export function createFindUnsound(schema: string): FindUnsound {
  return async ({ isDone = false } = {}) => {
    const violations: string[] = []
    for (const { name, sql, atEnd } of checks) {
      if (atEnd && !isDone) continue
      const rows = await askServer(translateQuery(sql), schema)
      if (rows.length > 0) violations.push(`${name}: ${JSON.stringify(rows.slice(0, 2)).slice(0, 900)}`)
    }
    return violations
  }
}
