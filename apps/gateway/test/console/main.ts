// `npm run test:console`: the console in Debian's Chromium, on real traffic of the simulation. `npm run screenshots`: its pictures alone, into
// docs/images.
import '@postern/testing/end-children'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findChromium } from '../peers/browser/find-chromium.ts'
import { CannotRun } from '../peers/debian.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const [firstArgument, ...otherArguments] = process.argv.slice(2)
const arePictures = firstArgument === '--screenshots'
const parameters = arePictures ? ['pictures', ...otherArguments] : process.argv.slice(2)

const directory = mkdtempSync(join(tmpdir(), 'postern-console-'))
try {
  const vitest = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--project', 'console']
  const pictures = arePictures ? join(root, 'docs/images') : directory
  const env = { ...process.env, TEST_CHROMIUM: await findChromium(directory), TEST_PICTURES: pictures }
  const child = spawn(process.execPath, [...vitest, ...parameters], { stdio: 'inherit', cwd: root, env })
  const [status] = (await once(child, 'exit')) as [number | null]
  process.exitCode = status ?? 1
} catch (error) {
  if (!(error instanceof CannotRun)) throw error
  process.stdout.write(`SKIPPED  test:console: ${error.message}\n`)
} finally {
  rmSync(directory, { recursive: true, force: true })
}
