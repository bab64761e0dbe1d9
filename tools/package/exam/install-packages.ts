// Installs npm packages in a folder.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Installs packages, together with those that the folder's own manifest requires, if it has one. */
export async function install(folder: string, packages: readonly string[]): Promise<void> {
  mkdirSync(folder, { recursive: true })
  if (!existsSync(join(folder, 'package.json'))) writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', ...packages]
  const [code] = await once(spawn('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] }), 'exit')
  if (code !== 0) throw new Error(`Cannot install ${packages.join(' ')}: npm ended with ${code}`)
}
