// `npm run test:postgres [words of vitest]`: the contract of the store, and several gateways on one database, at a real PostgreSQL server.
import '@postern/testing/end-children'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CannotRun } from '../peers/debian.ts'
import { findServerPrograms } from './server/find-server.ts'

const vitest = fileURLToPath(new URL('../../../../node_modules/vitest/vitest.mjs', import.meta.url))

const directory = mkdtempSync(join(tmpdir(), 'postern-postgres-'))
try {
  const env = { ...process.env, TEST_POSTGRES_PROGRAMS: await findServerPrograms(directory) }
  const args = [vitest, 'run', '--project', 'postgres', ...process.argv.slice(2)]
  // The programs may come with libraries, which the search itself has named.
  const libraries = process.env.LD_LIBRARY_PATH
  const suite = spawn(process.execPath, args, {
    stdio: 'inherit',
    env: { ...env, ...(libraries && { LD_LIBRARY_PATH: libraries }) },
  })
  const [status] = (await once(suite, 'exit')) as [number | null]
  process.exitCode = status ?? 1
} catch (error) {
  if (!(error instanceof CannotRun)) throw error
  process.stdout.write(`SKIPPED  test:postgres: ${error.message}\n`)
} finally {
  rmSync(directory, { recursive: true, force: true })
}
