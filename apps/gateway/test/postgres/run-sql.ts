import { join } from 'node:path'
import { runCommand } from '../peers/run-command.ts'

export async function runSql(url: string, sql: string): Promise<void> {
  await runCommand(join(process.env.TEST_POSTGRES_PROGRAMS ?? '', 'psql'), [url, '-c', sql])
}
