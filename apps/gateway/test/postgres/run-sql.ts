// Runs SQL with psql.
import { join } from 'node:path'
import { readOutput } from '../peers/run-command.ts'

/** Returns the rows as psql writes them, without headings. */
export async function runSql(url: string, sql: string): Promise<string> {
  const text = await readOutput(join(process.env.TEST_POSTGRES_PROGRAMS ?? '', 'psql'), [url, '-qAtc', sql])
  return text.trim()
}
