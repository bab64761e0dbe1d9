// Downloads and unpacks Debian packages for the exams.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand, tryCommand } from './run-command.ts'

/** An error that says why the peers cannot run on this machine. It does not count as a failure. */
export class CannotRun extends Error {}

export const hasCommand = async (name: string) => (await tryCommand('sh', ['-c', `command -v ${name}`])).status === 0

/** Checks for the tools of the private network, which even an exam without foreign programs needs. @throws CannotRun */
export async function requireTools(): Promise<string> {
  const missingTools = await findMissingTools()
  if (missingTools.length > 0) throw new CannotRun(`${missingTools.join(', ')}: not installed`)
  return ''
}

/** Returns true if this process is root on a machine with `apt-get`. Only then can it fetch packages. */
export const isDebianRoot = async () => process.getuid?.() === 0 && (await hasCommand('apt-get'))

/** The tools that create the private network, each with its Debian package. */
const tools = { unshare: 'util-linux', mount: 'mount', ip: 'iproute2', openssl: 'openssl' } as const

/** Lists the packages of those tools that this machine lacks. */
export async function findMissingTools(): Promise<readonly string[]> {
  const present = await Promise.all(Object.keys(tools).map(hasCommand))
  return Object.values(tools).filter((_, index) => !present[index])
}

/** Runs `apt-get` in the directory that it was opened for; `parameters` include the command. @throws CannotRun */
export type Apt = (parameters: readonly string[]) => Promise<string>

/** Updates the lists of the machine's own package sources and of its backports, for this run alone. @throws CannotRun */
export async function openPackageLists(directory: string): Promise<Apt> {
  const parts = join(directory, 'sources')
  mkdirSync(parts, { recursive: true })
  await tryCommand('sh', ['-c', `cp /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list ${parts}/`])
  writeFileSync(join(parts, 'postern-backports.sources'), describeBackports())
  const apt: Apt = async parameters => {
    // Exams that run at the same time take turns, because apt fails instead of waiting while another process uses its lists.
    const args = [lockPath, 'apt-get', '-q', '-o', 'DPkg::Lock::Timeout=300', '-o', `Dir::Etc::sourceparts=${parts}`]
    const { status, text } = await tryCommand('flock', [...args, ...parameters], {
      cwd: directory,
      timeoutMs: 600_000,
    })
    if (status !== 0)
      throw new CannotRun(`apt-get ${parameters.find(isVerb)} failed: ${text.trim().split('\n').at(-1)}`)
    return text
  }
  await apt(['update'])
  return apt
}

/**
 * Downloads packages with the dependencies that this machine lacks. Installs only the missing tools of the private network, never the packages.
 * `groups`: packages that conflict with each other are in separate groups. `archives`: the folder of the downloaded files. @throws CannotRun
 */
export async function downloadPackages(
  directory: string,
  groups: readonly (readonly string[])[],
): Promise<{ readonly apt: Apt; readonly archives: string }> {
  const apt = await openPackageLists(directory)
  const missingTools = await findMissingTools()
  if (missingTools.length > 0) await apt(['install', '-y', '--no-install-recommends', ...missingTools])
  const archives = join(directory, 'archives')
  mkdirSync(join(archives, 'partial'), { recursive: true })
  const asRoot: Apt = parameters => apt([...unboxed, '-o', `Dir::Cache::archives=${archives}`, ...parameters])
  for (const names of groups) await asRoot(['install', '-y', '--no-install-recommends', '--download-only', ...names])
  return { apt: asRoot, archives }
}

/** Lets apt download as root, because its sandbox user cannot write to our directory. */
const unboxed = ['-o', 'APT::Sandbox::User=root'] as const

/** Unpacks all packages in these folders into a tree. */
export async function unpackPackages(packageRoot: string, folders: readonly string[]): Promise<void> {
  const files = folders.flatMap(folder => readdirSync(folder).map(name => join(folder, name)))
  for (const file of files.filter(name => name.endsWith('.deb')))
    await runCommand('dpkg-deb', ['-x', file, packageRoot])
}

const lockPath = join(tmpdir(), 'postern-apt.lock')

const isVerb = (parameter: string) => /^[a-z]+$/.test(parameter)

function describeBackports(): string {
  const release = /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'bookworm'
  return [
    'Types: deb',
    'URIs: http://deb.debian.org/debian',
    `Suites: ${release}-backports`,
    'Components: main',
    'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg',
    '',
  ].join('\n')
}
