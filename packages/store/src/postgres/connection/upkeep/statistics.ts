import type { ClientConfig } from 'pg'
import pg from 'pg'
import { socketOf } from '../line.ts'
import type { Statement } from '../pipelined-run.ts'

/**
 * Tables of which the server knows too little: they have grown to four times of what they were when it last looked, or
 * came from a dump, which brings no statistics along. `pages`: how large they are now.
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
 * The server makes a plan once for all values (`plan_cache_mode`), and for an empty table any index is as good as the
 * right one. Its autovacuum looks after a minute, or never: until then each message would read all those before it.
 */
export function createStatistics(): {
  /** The tables to analyze now, once a look. */
  outdated(found: readonly OutgrownTable[]): readonly string[]
  /** Its analysis failed: it is tried again, but not at once. */
  forget(table: string): void
} {
  const seen = new Map<string, number>()
  const restsUntil = new Map<string, number>()
  let look = 0
  return {
    outdated(found) {
      look += 1
      // Who may not analyze a table is not refused, and must not try it all the time.
      const grown = found.filter(
        ({ name, pages }) => pages >= 2 * (seen.get(name) ?? 0) && look >= (restsUntil.get(name) ?? 0),
      )
      for (const { name, pages } of grown) seen.set(name, pages)
      return grown.map(({ name }) => name)
    },
    forget(table) {
      seen.delete(table)
      restsUntil.set(table, look + looksUntilRetry)
    },
  }
}

/** About a minute. */
const looksUntilRetry = 30

/** On a connection of its own: a session hears no notification while a statement of its runs, and this one may run for long. */
export async function analyzeTable(table: string, client: ClientConfig, setUp: string): Promise<void> {
  const connection = new pg.Client(client)
  connection.on('error', () => undefined)
  try {
    await connection.connect()
    // Nobody waits for it.
    socketOf(connection).unref()
    await connection.query(setUp)
    await connection.query(`ANALYZE ${pg.escapeIdentifier(table)}`)
  } finally {
    await connection.end().catch(() => undefined)
  }
}
