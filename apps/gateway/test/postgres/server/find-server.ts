// Finds the programs of a PostgreSQL server: the machine's own, or those of Debian's package, unpacked into a folder and not installed.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { findPostgres } from '@postern/testing/postgres-cluster'
import { CannotRun, isDebianRoot, openPackageLists } from '../../peers/debian.ts'
import { runCommand } from '../../peers/run-command.ts'

/**
 * Returns the folder of `initdb` and `postgres`. Fetched programs are in `directory`, with their libraries in `LD_LIBRARY_PATH`.
 * @throws CannotRun
 */
export async function findServerPrograms(directory: string): Promise<string> {
  const installedPrograms = findPostgres()
  if (installedPrograms) return installedPrograms
  if (!(await isDebianRoot())) throw new CannotRun('PostgreSQL is not installed, and only root on Debian can fetch it')
  return unpackServer(directory)
}

async function unpackServer(directory: string): Promise<string> {
  const apt = await openPackageLists(directory)
  const archives = join(directory, 'archives')
  await runCommand('mkdir', ['-p', join(archives, 'partial')])
  const aptOptions = ['-o', 'APT::Sandbox::User=root', '-o', `Dir::Cache::archives=${archives}`]
  await apt([...aptOptions, 'install', '-y', '--no-install-recommends', '--download-only', 'postgresql'])
  const packageRoot = join(directory, 'tree')
  for (const name of readdirSync(archives).filter(fileName => fileName.endsWith('.deb'))) {
    await runCommand('dpkg-deb', ['-x', join(archives, name), packageRoot])
  }
  // The server runs as another user than this process.
  await runCommand('chmod', ['-R', 'a+rX', directory])
  const libraries = ['usr/lib', 'lib'].flatMap(folder => listMachineFolders(join(packageRoot, folder)))
  process.env.LD_LIBRARY_PATH = libraries.join(':')
  const programs = findPostgres(packageRoot)
  if (!programs) throw new CannotRun('the package postgresql holds no server')
  return programs
}

function listMachineFolders(folder: string): readonly string[] {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter(name => name.endsWith('-linux-gnu'))
  return names.map(name => join(folder, name))
}
