import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand, tryCommand } from './run-command.ts'

/** Why the peers cannot be run on this machine; not a failure. */
export class CannotRun extends Error {}

const hasCommand = async (name: string) => (await tryCommand('sh', ['-c', `command -v ${name}`])).status === 0

/** What the private network is made with, and the Debian package that has it. */
const tools = { unshare: 'util-linux', mount: 'mount', ip: 'iproute2', openssl: 'openssl' } as const

/**
 * The program `snac`, installed or unpacked from Debian's own package into `directory`. The package is not installed: that
 * would start a server on this machine. @throws CannotRun
 */
export async function findSnac(directory: string): Promise<string> {
  const isDebian = (await hasCommand('apt-get')) && process.getuid?.() === 0
  const missing = await findMissingTools()
  if (missing.length > 0 && !isDebian) throw new CannotRun(`there is no ${missing.join(', ')}`)
  if (missing.length === 0 && (await hasCommand('snac'))) return 'snac'
  if (!isDebian) throw new CannotRun('snac is not installed, and only root on Debian can fetch its package')
  const apt = await openPackageLists(directory)
  if (missing.length > 0) await apt(['install', '-y', '--no-install-recommends', ...missing.map(tool => tools[tool])])
  return unpackSnac(directory, apt)
}

async function findMissingTools(): Promise<readonly (keyof typeof tools)[]> {
  const names = Object.keys(tools) as (keyof typeof tools)[]
  const found = await Promise.all(names.map(hasCommand))
  return names.filter((_, at) => !found[at])
}

type Apt = (parameters: readonly string[]) => Promise<string>

/** The machine's own package sources and the backports of its release beside them, for this run alone. */
async function openPackageLists(directory: string): Promise<Apt> {
  const parts = join(directory, 'sources')
  mkdirSync(parts, { recursive: true })
  await tryCommand('sh', ['-c', `cp /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list ${parts}/`])
  writeFileSync(join(parts, 'postern-backports.sources'), describeBackports())
  const apt: Apt = async parameters => {
    const { status, text } = await tryCommand(
      'apt-get',
      ['-q', '-o', `Dir::Etc::sourceparts=${parts}`, ...parameters],
      {
        cwd: directory,
        timeoutMs: 300_000,
      },
    )
    if (status !== 0)
      throw new CannotRun(`apt-get ${parameters.find(isVerb)} failed: ${text.trim().split('\n').at(-1)}`)
    return text
  }
  await apt(['update'])
  return apt
}

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

async function unpackSnac(directory: string, apt: Apt): Promise<string> {
  // The sandbox user of apt cannot write here.
  await apt(['-o', 'APT::Sandbox::User=root', 'download', 'snac2'])
  const archive = readdirSync(directory).find(name => /^snac2_.*\.deb$/.test(name))
  if (!archive) throw new CannotRun('the package snac2 was not there after its download')
  await runCommand('dpkg-deb', ['-x', join(directory, archive), join(directory, 'snac2')])
  const program = join(directory, 'snac2/usr/bin/snac')
  if ((await tryCommand(program, [])).text.includes('Commands:')) return program
  const needed = await runCommand('dpkg-deb', ['-f', join(directory, archive), 'Depends'])
  await apt(['satisfy', '-y', '--no-install-recommends', needed.trim()])
  return program
}
