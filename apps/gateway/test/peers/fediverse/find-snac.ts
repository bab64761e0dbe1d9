// Finds the program snac.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Apt } from '../debian.ts'
import { CannotRun, findMissingTools, hasCommand, isDebianRoot, openPackageLists } from '../debian.ts'
import { runCommand, tryCommand } from '../run-command.ts'

/**
 * Finds the program `snac`, installed or unpacked from Debian's own package into `directory`. The package is not installed, because that would start
 * a server on this machine.
 * @throws CannotRun
 */
export async function findSnac(directory: string): Promise<string> {
  const isDebian = await isDebianRoot()
  const missingTools = await findMissingTools()
  if (missingTools.length > 0 && !isDebian) throw new CannotRun(`${missingTools.join(', ')}: not installed`)
  if (missingTools.length === 0 && (await hasCommand('snac'))) return 'snac'
  if (!isDebian) throw new CannotRun('snac is not installed, and only root on Debian can fetch its package')
  const apt = await openPackageLists(directory)
  if (missingTools.length > 0) await apt(['install', '-y', '--no-install-recommends', ...missingTools])
  return unpackSnac(directory, apt)
}

async function unpackSnac(directory: string, apt: Apt): Promise<string> {
  // The sandbox user of apt cannot write to this directory.
  await apt(['-o', 'APT::Sandbox::User=root', 'download', 'snac2'])
  const archive = readdirSync(directory).find(name => /^snac2_.*\.deb$/.test(name))
  if (!archive) throw new CannotRun('the package snac2 was not there after its download')
  await runCommand('dpkg-deb', ['-x', join(directory, archive), join(directory, 'snac2')])
  const program = join(directory, 'snac2/usr/bin/snac')
  if ((await tryCommand(program, [])).text.includes('Commands:')) return program
  const dependencies = await runCommand('dpkg-deb', ['-f', join(directory, archive), 'Depends'])
  await apt(['satisfy', '-y', '--no-install-recommends', dependencies.trim()])
  return program
}
