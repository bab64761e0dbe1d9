// `npm run test:docs`: builds the site of the documentation, and opens it in Debian's Chromium. `-- --pictures <folder>` keeps the
// screenshots.
import '@postern/testing/end-children'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findChromium } from '../../peers/browser/find-chromium.ts'
import { CannotRun } from '../../peers/debian.ts'

const root = fileURLToPath(new URL('../../../../..', import.meta.url))
const [first, folder, ...otherArguments] = process.argv.slice(2)
const arePictures = first === '--pictures'
const parameters = arePictures ? otherArguments : process.argv.slice(2)

const directory = mkdtempSync(join(tmpdir(), 'postern-docs-'))
try {
  const env = { TEST_CHROMIUM: await findChromium(directory), TEST_PICTURES: (arePictures && folder) || directory }
  await runCommand(
    process.execPath,
    [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--project', 'docs', ...parameters],
    env,
  )
} catch (error) {
  if (!(error instanceof CannotRun)) throw error
  process.stdout.write(`SKIPPED  test:docs: ${error.message}\n`)
} finally {
  rmSync(directory, { recursive: true, force: true })
}

/** Exits with the status of the other program, if that failed. */
async function runCommand(command: string, args: readonly string[], env: Record<string, string> = {}): Promise<void> {
  if (process.exitCode) return
  const child = spawn(command, args, { stdio: 'inherit', cwd: root, env: { ...process.env, ...env } })
  const [status] = (await once(child, 'exit')) as [number | null]
  process.exitCode = status ?? 1
}
