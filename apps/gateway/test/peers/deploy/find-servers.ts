import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { CannotRun, findMissingTools, isDebianRoot, openPackageLists } from '../debian.ts'
import { runCommand, tryCommand } from '../run-command.ts'

/** Unpacks Caddy and nginx from Debian's packages into a tree below `directory`; nothing is installed. @throws CannotRun */
export async function findServers(directory: string): Promise<string> {
  if (!(await isDebianRoot())) throw new CannotRun('only root on Debian can fetch and run Caddy and nginx')
  const apt = await openPackageLists(directory)
  const missing = await findMissingTools()
  if (missing.length > 0) await apt(['install', '-y', '--no-install-recommends', ...missing])
  const archives = join(directory, 'archives')
  mkdirSync(join(archives, 'partial'), { recursive: true })
  // The sandbox user of apt cannot write here.
  const own = ['-o', 'APT::Sandbox::User=root', '-o', `Dir::Cache::archives=${archives}`]
  for (const name of ['caddy', 'nginx-light']) {
    await apt([...own, 'install', '-y', '--no-install-recommends', '--download-only', name])
  }
  const tree = join(directory, 'tree')
  for (const name of readdirSync(archives).filter(each => each.endsWith('.deb'))) {
    await runCommand('dpkg-deb', ['-x', join(archives, name), tree])
  }
  for (const program of ['usr/bin/caddy version', 'usr/sbin/nginx -v']) {
    const { status, text } = await tryCommand('sh', ['-c', join(tree, program)])
    if (status !== 0) throw new CannotRun(`${program} failed: ${text.trim().split('\n').at(-1)}`)
  }
  return tree
}
