import { join } from 'node:path'
import { runCommand } from '../peers/run-command.ts'

/** @returns rows as psql writes them, without heads */
export async function runSql(url: string, sql: string): Promise<string> {
  const text = await runCommand(join(process.env.TEST_POSTGRES_PROGRAMS ?? '', 'psql'), [url, '-qAtc', sql])
  return text.trim()
}
