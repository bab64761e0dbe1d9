// Finds the mail programs of the exam.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { CannotRun, downloadPackages, isDebianRoot, unpackPackages } from '../debian.ts'
import { tryCommand } from '../run-command.ts'

/** Packages that conflict when installed are in separate groups, because here they are only unpacked. */
const packages = [
  ['postfix'],
  ['exim4-daemon-light'],
  ['opensmtpd'],
  ['swaks', 'python3-dkim', 'python3-nacl'],
  ['opendkim'],
] as const

/**
 * Unpacks Postfix, Exim, OpenSMTPD, swaks, dkimpy and OpenDKIM from Debian's own packages, with the dependencies that this machine lacks, into a tree
 * below `directory`. Installs nothing, because that would start servers on this machine.
 * @throws CannotRun
 */
export async function findMailPrograms(directory: string): Promise<string> {
  if (!(await isDebianRoot())) throw new CannotRun('only root on Debian can fetch and run the mail servers')
  const { apt, archives } = await downloadPackages(directory, packages)
  // Packages that are already installed were left out.
  await apt(['download', ...packages.flat()])
  const packageRoot = join(directory, 'tree')
  await unpackPackages(packageRoot, [archives, directory])
  await checkPrograms(packageRoot)
  return packageRoot
}

/** Checks that each program starts, which it does only if it finds everything it needs. @throws CannotRun */
async function checkPrograms(packageRoot: string): Promise<void> {
  const { python, perl, libraries } = describePrograms(packageRoot)
  const env = [`LD_LIBRARY_PATH=${libraries}`, `PERL5LIB=${perl}`, `PYTHONPATH=${python.path}`]
  const checks = [
    [join(packageRoot, 'usr/sbin/postconf'), '-d', 'mail_version'],
    // Without their users, these programs do not print their versions.
    [
      'sh',
      '-c',
      `! ldd ${join(packageRoot, 'usr/sbin/exim4')} ${join(packageRoot, 'usr/sbin/smtpd')} | grep 'not found'`,
    ],
    ['perl', join(packageRoot, 'usr/bin/swaks'), '--version'],
    [python.program, '-c', 'import dkim, dns.resolver, nacl.signing'],
    [join(packageRoot, 'usr/sbin/opendkim'), '-V'],
  ]
  for (const check of checks) {
    const { status, text } = await tryCommand('env', [...env, ...check])
    if (status !== 0) throw new CannotRun(`${check.join(' ')} failed: ${text.trim().split('\n').at(-1)}`)
  }
}

/** Returns the paths at which unpacked programs find their libraries and modules. */
export function describePrograms(packageRoot: string) {
  const below = (...folders: readonly string[]) => folders.map(folder => join(packageRoot, folder))
  const machine = (folder: string) =>
    existsSync(join(packageRoot, folder))
      ? readdirSync(join(packageRoot, folder))
          .filter(name => name.endsWith('-linux-gnu'))
          .map(name => join(packageRoot, folder, name))
      : []
  const libraries = [...machine('usr/lib'), ...machine('lib'), ...below('usr/lib', 'usr/lib/postfix')].join(':')
  const [unpacked = ''] = below('usr/bin/python3')
  return {
    libraries,
    perl: below('usr/share/perl5').join(':'),
    python: {
      program: existsSync(unpacked) ? unpacked : '/usr/bin/python3',
      path: below('usr/lib/python3/dist-packages').join(':'),
    },
  }
}
