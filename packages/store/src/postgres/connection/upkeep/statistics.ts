import pg from 'pg'
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
  outdated(found: readonly OutgrownTable[]): readonly Statement[]
  /** The server was not there: all are tried again. */
  forget(): void
} {
  const seen = new Map<string, number>()
  return {
    outdated(found) {
      // Who may not analyze a table is not refused, and must not try it all the time.
      const grown = found.filter(({ name, pages }) => pages >= 2 * (seen.get(name) ?? 0))
      for (const { name, pages } of grown) seen.set(name, pages)
      return grown.map(({ name }) => ({ name: `analyze ${name}`, text: `ANALYZE ${pg.escapeIdentifier(name)}` }))
    },
    forget: () => seen.clear(),
  }
}
