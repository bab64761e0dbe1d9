import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { captureFixtures } from './capture.ts'
import { CannotRun, findSnac } from './find-snac.ts'
import { tryCommand } from './run-command.ts'

// `npm run test:peers`: our gateway and a real foreign server, snac2, in a network of their own.
// `--capture` keeps what snac sent as fixtures.

const inside = fileURLToPath(new URL('./inside.ts', import.meta.url))

/** A namespace needs root, or a machine that lets everybody be root in one of his own. @throws CannotRun */
async function findNamespace(): Promise<readonly string[]> {
  const flags = ['--net', '--mount', ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'])]
  if ((await tryCommand('unshare', [...flags, 'true'])).status === 0) return flags
  throw new CannotRun('this machine lets us have no network namespace')
}

async function runPeers(directory: string): Promise<number> {
  const program = await findSnac(directory)
  const flags = await findNamespace()
  const exam = spawn('unshare', [...flags, process.execPath, inside, program, directory], { stdio: 'inherit' })
  const [status] = (await once(exam, 'exit')) as [number | null]
  if (status === 0 && process.argv.includes('--capture')) captureFixtures(join(directory, 'seen.json'))
  return status ?? 1
}

const directory = mkdtempSync(join(tmpdir(), 'postern-peers-'))
try {
  process.exitCode = await runPeers(directory)
} catch (error) {
  if (!(error instanceof CannotRun)) throw error
  process.stdout.write(`SKIPPED  test:peers: ${error.message}\n`)
} finally {
  rmSync(directory, { recursive: true, force: true })
}
