// Analyzes tables that have grown.
import type { ClientConfig } from 'pg'
import pg from 'pg'
import { socketOf } from '../connection.ts'
import type { Statement } from '../pipelined-run.ts'

/**
 * Finds tables of which the server has poor statistics. They have more than four times the pages of the last analysis, or came from a dump, which
 * contains no statistics. `pages` is the present size.
 */
export const findOutgrown: Statement = {
  name: 'outgrown',
  text: `SELECT relname AS name, pages FROM (
       SELECT c.relname, c.relpages, pg_relation_size(c.oid) / current_setting('block_size')::int AS pages
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r') AS tables
     WHERE pages >= 8 AND pages > 4 * relpages`,
}

interface OutgrownTable {
  readonly name: string
  readonly pages: number
}

/**
 * Creates the choice of tables to analyze. The server makes one plan for all values (`plan_cache_mode`), and for an empty table any index looks as
 * good as the right one. Its autovacuum comes after a minute, or never. Until then each message would read all earlier ones.
 */
export function createStatistics(): {
  /** Returns the tables to analyze now. Call it once for each check. */
  chooseOutdated(outgrown: readonly OutgrownTable[]): readonly string[]
  /** Notes that the analysis of a table failed. It is retried, but not at once. */
  forget(table: string): void
} {
  const pageCounts = new Map<string, number>()
  const retryRounds = new Map<string, number>()
  let round = 0
  return {
    chooseOutdated(outgrown) {
      round += 1
      // The server ignores an ANALYZE by a user without the right to it, so the table must grow before the next one.
      const grownTables = outgrown.filter(
        ({ name, pages }) => pages >= 2 * (pageCounts.get(name) ?? 0) && round >= (retryRounds.get(name) ?? 0),
      )
      for (const { name, pages } of grownTables) pageCounts.set(name, pages)
      return grownTables.map(({ name }) => name)
    },
    forget(table) {
      pageCounts.delete(table)
      retryRounds.set(table, round + checksUntilRetry)
    },
  }
}

/** The number of checks until a failed analysis is retried, which take about a minute. */
const checksUntilRetry = 30

/** Analyzes a table on a connection of its own. A session gets no notification during a statement, and this statement may take long. */
export async function analyzeTable(table: string, client: ClientConfig, setUp: string): Promise<void> {
  const connection = new pg.Client(client)
  connection.on('error', () => undefined)
  try {
    await connection.connect()
    // The analysis must not keep the process alive.
    socketOf(connection).unref()
    await connection.query(setUp)
    await connection.query(`ANALYZE ${pg.escapeIdentifier(table)}`)
  } finally {
    await connection.end().catch(() => undefined)
  }
}
