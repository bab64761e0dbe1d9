import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createCluster, findPostgres } from '@postern/testing/postgres-cluster'
import { CannotRun, isDebianRoot, openPackageLists } from '../peers/debian.ts'
import { runCommand } from '../peers/run-command.ts'

// `npm run test:postgres [words of vitest]`: what a store has to keep to, and several gateways on one database, at a real PostgreSQL server.
// The machine's own, else Debian's package, unpacked; nothing is installed, and no server of the machine is touched.

/** @throws CannotRun */
async function findPrograms(directory: string): Promise<string> {
  const own = findPostgres()
  if (own) return own
  if (!(await isDebianRoot())) throw new CannotRun('PostgreSQL is not installed, and only root on Debian can fetch it')
  return unpackServer(directory)
}

async function unpackServer(directory: string): Promise<string> {
  const apt = await openPackageLists(directory)
  const archives = join(directory, 'archives')
  await runCommand('mkdir', ['-p', join(archives, 'partial')])
  const own = ['-o', 'APT::Sandbox::User=root', '-o', `Dir::Cache::archives=${archives}`]
  await apt([...own, 'install', '-y', '--no-install-recommends', '--download-only', 'postgresql'])
  const tree = join(directory, 'tree')
  for (const name of readdirSync(archives).filter(each => each.endsWith('.deb'))) {
    await runCommand('dpkg-deb', ['-x', join(archives, name), tree])
  }
  // It is run by another user than ours.
  await runCommand('chmod', ['-R', 'a+rX', directory])
  const libraries = ['usr/lib', 'lib'].flatMap(folder => listMachineFolders(join(tree, folder)))
  process.env.LD_LIBRARY_PATH = libraries.join(':')
  const programs = findPostgres(tree)
  if (!programs) throw new CannotRun('the package postgresql holds no server')
  return programs
}

function listMachineFolders(folder: string): readonly string[] {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter(name => name.endsWith('-linux-gnu'))
  return names.map(name => join(folder, name))
}

async function runSuite(programs: string, directory: string): Promise<number> {
  // What is durable is tried with servers of their own.
  const cluster = await createCluster({ programs, settings: ['fsync=off', 'max_connections=200'] })
  try {
    await cluster.start()
    const vitest = fileURLToPath(new URL('../../../../node_modules/vitest/vitest.mjs', import.meta.url))
    const env = {
      ...process.env,
      TEST_POSTGRES: cluster.url,
      TEST_POSTGRES_PROGRAMS: programs,
      // Every gateway is a process of its own, which reads the same files.
      NODE_COMPILE_CACHE: join(directory, 'compiled'),
    }
    const words = ['run', '-c', 'vitest.postgres.config.ts', ...process.argv.slice(2)]
    const suite = spawn(process.execPath, [vitest, ...words], { stdio: 'inherit', env })
    const [status] = (await once(suite, 'exit')) as [number | null]
    return status ?? 1
  } finally {
    await cluster.remove()
  }
}

const directory = mkdtempSync(join(tmpdir(), 'postern-postgres-'))
try {
  process.exitCode = await runSuite(await findPrograms(directory), directory)
} catch (error) {
  if (!(error instanceof CannotRun)) throw error
  process.stdout.write(`SKIPPED  test:postgres: ${error.message}\n`)
} finally {
  rmSync(directory, { recursive: true, force: true })
}
