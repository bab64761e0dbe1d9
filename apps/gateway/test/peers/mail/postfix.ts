// Starts Postfix as a mail server of the exam.
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ourHost } from '../names.ts'
import { describePrograms } from './find-mail-programs.ts'
import type { MailServer } from './mail-server.ts'
import { startMailServer } from './mail-server.ts'
import { mailHost, mailPorts, peopleHost, postdrop, stagePath, users } from './names.ts'
import { startOpenDkimSigner } from './opendkim-signer.ts'

const deployedMainCf = new URL('../../../../../deploy/postfix/main.cf', import.meta.url)

/** Starts Postfix, set up as docs/explanation/mail/receiving.md says, from `tree`. */
export const startPostfix = (packageRoot: string): Promise<MailServer> =>
  runPostfix(packageRoot, { name: 'Postfix', settings: { virtual_transport: `lmtp:inet:127.0.0.1:${mailPorts.ours}` } })

/** Starts Postfix, set up as deploy/postfix is, with the names of this network. Mail goes to our socket in the file system. */
export function startDeployedPostfix(packageRoot: string): Promise<MailServer> {
  const folder = join(stagePath, 'lmtp')
  makeFolder(folder, 0o2750, 0, users.postfix.gid)
  const socketPath = join(folder, 'socket')
  const settings = {
    ...readSettings(readFileSync(deployedMainCf, 'utf8')),
    virtual_transport: `lmtp:unix:${socketPath}`,
  }
  return runPostfix(packageRoot, { name: 'Postfix by a socket', settings, socketPath })
}

function readSettings(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\n').filter(line => line !== '' && !line.startsWith('#'))
  return Object.fromEntries(lines.map(line => line.split(/ = ?/, 2) as [string, string]))
}

interface PostfixPlan {
  readonly name: string
  readonly settings: Readonly<Record<string, string>>
  readonly socketPath?: string
}

async function runPostfix(packageRoot: string, { name, settings, socketPath }: PostfixPlan): Promise<MailServer> {
  const folder = join(stagePath, name.replaceAll(' ', '-'))
  const { libraries } = describePrograms(packageRoot)
  makeFolders(folder)
  const logPath = join(folder, 'log')
  writeFileSync(join(folder, 'main.cf'), describeMain(packageRoot, libraries, { folder, settings }))
  // The exit code is EX_NOUSER of sysexits.h.
  writeFileSync(join(users.gone.home, '.forward'), '"|exit 67"\n')
  writeFileSync(join(folder, 'master.cf'), services.map(describeService).join('\n'))
  const filter = await startOpenDkimSigner(packageRoot)
  const server = await startMailServer({
    name,
    command: [join(packageRoot, 'usr/lib/postfix/sbin/master'), '-c', folder],
    env: { LD_LIBRARY_PATH: libraries },
    logPath,
  })
  return {
    ...server,
    ...(socketPath !== undefined && { socketPath }),
    records: [filter.record],
    async stop() {
      await server.stop()
      await filter.stop()
    },
  }
}

interface PostfixSetup {
  readonly folder: string
  readonly settings: Readonly<Record<string, string>>
}

function describeMain(packageRoot: string, libraries: string, { folder, settings }: PostfixSetup): string {
  const parameters = {
    compatibility_level: '3.6',
    lmtp_send_xforward_command: 'yes',
    recipient_delimiter: '+',
    smtpd_forbid_bare_newline: 'normalize',
    smtpd_forbid_bare_newline_exclusions: '',
    ...settings,
    queue_directory: join(folder, 'queue'),
    data_directory: join(folder, 'data'),
    daemon_directory: join(packageRoot, 'usr/lib/postfix/sbin'),
    command_directory: join(packageRoot, 'usr/sbin'),
    shlib_directory: join(packageRoot, 'usr/lib/postfix'),
    import_environment: `LD_LIBRARY_PATH=${libraries} MAIL_CONFIG TZ`,
    maillog_file: join(folder, 'log'),
    maillog_file_prefixes: stagePath,
    myhostname: mailHost,
    mydestination: peopleHost,
    mynetworks: '127.0.0.0/8',
    inet_protocols: 'ipv4',
    smtp_dns_support_level: 'disabled',
    alias_maps: '',
    local_recipient_maps: 'unix:passwd.byname',
    home_mailbox: 'Maildir/',
    virtual_mailbox_domains: ourHost,
    smtpd_milters: `inet:127.0.0.1:${mailPorts.filter}`,
  }
  return Object.entries(parameters)
    .map(([key, value]) => `${key} = ${value}\n`)
    .join('')
}

type Service = readonly [name: string, type: 'inet' | 'unix', isPrivate: 'y' | 'n', command?: string]

const services: readonly Service[] = [
  [`127.0.0.1:${mailPorts.server}`, 'inet', 'n', 'smtpd'],
  ['pickup', 'unix', 'n'],
  ['cleanup', 'unix', 'n'],
  ['qmgr', 'unix', 'n'],
  ['rewrite', 'unix', 'y', 'trivial-rewrite'],
  ['bounce', 'unix', 'y'],
  ['defer', 'unix', 'y', 'bounce'],
  ['trace', 'unix', 'y', 'bounce'],
  ['proxymap', 'unix', 'y'],
  ['error', 'unix', 'y'],
  ['retry', 'unix', 'y', 'error'],
  ['local', 'unix', 'y'],
  ['lmtp', 'unix', 'y'],
  ['smtp', 'unix', 'y'],
  ['anvil', 'unix', 'y'],
  ['scache', 'unix', 'y'],
  ['postlog', 'unix', 'n', 'postlogd'],
]

/** The process limits that Postfix insists on: the number of processes of a service, 0 for any number. */
const processLimits: Readonly<Record<string, string>> = {
  ...{ pickup: '1', qmgr: '1', anvil: '1', scache: '1', postlogd: '1' },
  ...{ cleanup: '0', bounce: '0' },
}

/** Describes a service. `local` writes as the user it writes for; the others run as Postfix. The log is a datagram socket. */
function describeService([name, type, isPrivate, command = name]: Service): string {
  const unprivileged = name === 'local' || name === 'proxymap' ? 'n' : '-'
  const wakeUp = { pickup: '60', qmgr: '300' }[name] ?? '-'
  const processes = processLimits[command] ?? '-'
  const kind = name === 'postlog' ? 'unix-dgram' : type
  return [name, kind, isPrivate, unprivileged, 'n', wakeUp, processes, command].join(' ')
}

/** Creates the folders that `postfix check` creates for an installed Postfix; ours is only unpacked. */
function makeFolders(folder: string): void {
  const queue = join(folder, 'queue')
  const { uid, gid } = users.postfix
  const ownFolders = ['active', 'bounce', 'corrupt', 'defer', 'deferred', 'flush', 'hold', 'incoming', 'private']
  mkdirSync(join(queue, 'pid'), { recursive: true })
  for (const folder of [...ownFolders, 'saved', 'trace', '../data']) makeFolder(join(queue, folder), 0o700, uid, gid)
  makeFolder(join(queue, 'public'), 0o710, uid, postdrop)
  makeFolder(join(queue, 'maildrop'), 0o1730, uid, postdrop)
}

function makeFolder(path: string, mode: number, uid: number, gid: number): void {
  mkdirSync(path, { recursive: true })
  chownSync(path, uid, gid)
  chmodSync(path, mode)
}
