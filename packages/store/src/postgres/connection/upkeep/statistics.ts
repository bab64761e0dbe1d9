// Analyzes tables that have grown, because the server has poor statistics of them.
import type { ClientConfig } from 'pg'
import pg from 'pg'
import { socketOf } from '../connection.ts'
import type { Statement } from '../pipelined-run.ts'

/**
 * Finds the tables of which the server has poor statistics. They have more than four times the pages of the last analysis, or come from a dump, which
 * contains no statistics. `pages` is the current size.
 */
export const findOutgrown: Statement = {
  name: 'outgrown',
  text: `SELECT relname AS name, pages FROM (
       SELECT c.relname, c.relpages, pg_relation_size(c.oid) / current_setting('block_size')::int AS pages
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r') AS tables
     WHERE pages >= 8 AND pages > 4 * relpages`,
}

/** The number of checks, of about a minute in total, until a failed analysis is repeated. */
const checksUntilRetry = 30

interface OutgrownTable {
  readonly name: string
  readonly pages: number
}

/**
 * Creates the choice of tables to analyze. The server makes one plan for all values (`plan_cache_mode`), and for an empty table it may choose a wrong
 * index. Autovacuum analyzes the table only after a minute, or never. Until then each message would read all earlier messages.
 */
export function createOutdatedTableChoice(): {
  /** Returns the tables to analyze now. The caller calls it once for each check. */
  chooseOutdated(outgrownTables: readonly OutgrownTable[]): readonly string[]
  /** Records that the analysis of a table failed. The analysis is repeated after some checks. */
  recordFailure(table: string): void
} {
  const pageCounts = new Map<string, number>()
  const retryRounds = new Map<string, number>()
  let round = 0
  return {
    chooseOutdated(outgrown) {
      round += 1
      // The server ignores an ANALYZE by a user without the privilege, so a table is analyzed again only after it has grown.
      const grownTables = outgrown.filter(
        ({ name, pages }) => pages >= 2 * (pageCounts.get(name) ?? 0) && round >= (retryRounds.get(name) ?? 0),
      )
      for (const { name, pages } of grownTables) pageCounts.set(name, pages)
      return grownTables.map(({ name }) => name)
    },
    recordFailure(table) {
      pageCounts.delete(table)
      retryRounds.set(table, round + checksUntilRetry)
    },
  }
}

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
