import { translateQuery } from '../../src/postgres/sql/translate-query.ts'
import { checks } from '../soundness.ts'
import type { FindUnsound } from '../soundness-model.ts'
import { askServer } from './test-server.ts'

/** As on SQLite, in the words of PostgreSQL. */
export function createFindUnsound(schema: string): FindUnsound {
  return async ({ isDone = false } = {}) => {
    const found: string[] = []
    for (const { name, sql, atEnd } of checks) {
      if (atEnd && !isDone) continue
      const rows = await askServer(translateQuery(sql), schema)
      if (rows.length > 0) found.push(`${name}: ${JSON.stringify(rows.slice(0, 2)).slice(0, 900)}`)
    }
    return found
  }
}
