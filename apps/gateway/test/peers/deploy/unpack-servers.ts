// Downloads and unpacks Caddy and nginx from Debian's packages.
import { join } from 'node:path'
import { CannotRun, downloadPackages, isDebianRoot, unpackPackages } from '../debian.ts'
import { tryCommand } from '../run-command.ts'

/** Unpacks Caddy and nginx from Debian's packages into a tree below `directory`, without installing them. @throws CannotRun */
export async function unpackWebServers(directory: string): Promise<string> {
  if (!(await isDebianRoot())) throw new CannotRun('only root on Debian can fetch and run Caddy and nginx')
  const { archives } = await downloadPackages(directory, [['caddy'], ['nginx-light']])
  const packageRoot = join(directory, 'tree')
  await unpackPackages(packageRoot, [archives])
  for (const program of ['usr/bin/caddy version', 'usr/sbin/nginx -v']) {
    const { status, text } = await tryCommand('sh', ['-c', join(packageRoot, program)])
    if (status !== 0) throw new CannotRun(`${program} failed: ${text.trim().split('\n').at(-1)}`)
  }
  return packageRoot
}
