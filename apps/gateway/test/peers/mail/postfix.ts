import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ourHost } from '../names.ts'
import { describePrograms } from './find-mail-programs.ts'
import type { MailServer } from './mail-server.ts'
import { startMailServer } from './mail-server.ts'
import { mailHost, mailPorts, peopleHost, postdrop, stagePath, users } from './names.ts'
import { startOpenDkimSigner } from './opendkim-signer.ts'

const place = join(stagePath, 'postfix')
const queue = join(place, 'queue')
const logPath = join(place, 'log')

/** Set up as docs/email.md says, and to run from `tree`. */
export async function startPostfix(tree: string): Promise<MailServer> {
  const { libraries } = describePrograms(tree)
  makeFolders()
  writeFileSync(join(place, 'main.cf'), describeMain(tree, libraries))
  // EX_NOUSER of sysexits.h.
  writeFileSync(join(users.gone.home, '.forward'), '"|exit 67"\n')
  writeFileSync(join(place, 'master.cf'), services.map(describeService).join('\n'))
  const filter = await startOpenDkimSigner(tree)
  const server = await startMailServer({
    name: 'Postfix',
    command: [join(tree, 'usr/lib/postfix/sbin/master'), '-c', place],
    env: { LD_LIBRARY_PATH: libraries },
    logPath,
  })
  return {
    ...server,
    records: [filter.record],
    async stop() {
      await server.stop()
      await filter.stop()
    },
  }
}

function describeMain(tree: string, libraries: string): string {
  const settings = {
    compatibility_level: '3.6',
    queue_directory: queue,
    data_directory: join(place, 'data'),
    daemon_directory: join(tree, 'usr/lib/postfix/sbin'),
    command_directory: join(tree, 'usr/sbin'),
    shlib_directory: join(tree, 'usr/lib/postfix'),
    import_environment: `LD_LIBRARY_PATH=${libraries} MAIL_CONFIG TZ`,
    maillog_file: logPath,
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
    virtual_transport: `lmtp:inet:127.0.0.1:${mailPorts.ours}`,
    lmtp_send_xforward_command: 'yes',
    recipient_delimiter: '+',
    smtpd_milters: `inet:127.0.0.1:${mailPorts.filter}`,
    smtpd_forbid_bare_newline: 'normalize',
    smtpd_forbid_bare_newline_exclusions: '',
  }
  return Object.entries(settings)
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

/** What Postfix insists on: how many of a service may run, 0 for any number. */
const processLimits: Readonly<Record<string, string>> = {
  ...{ pickup: '1', qmgr: '1', anvil: '1', scache: '1', postlogd: '1' },
  ...{ cleanup: '0', bounce: '0' },
}

/** `local` writes as the user it writes for; the others run as Postfix. The log is a socket for datagrams. */
function describeService([name, type, isPrivate, command = name]: Service): string {
  const unprivileged = name === 'local' || name === 'proxymap' ? 'n' : '-'
  const wakeUp = { pickup: '60', qmgr: '300' }[name] ?? '-'
  const processes = processLimits[command] ?? '-'
  const kind = name === 'postlog' ? 'unix-dgram' : type
  return [name, kind, isPrivate, unprivileged, 'n', wakeUp, processes, command].join(' ')
}

/** What `postfix check` would make: it knows only a Postfix that is installed. */
function makeFolders(): void {
  const { uid, gid } = users.postfix
  const ownFolders = ['active', 'bounce', 'corrupt', 'defer', 'deferred', 'flush', 'hold', 'incoming', 'private']
  mkdirSync(join(queue, 'pid'), { recursive: true })
  for (const folder of [...ownFolders, 'saved', 'trace', '../data']) makeFolder(folder, 0o700, uid, gid)
  makeFolder('public', 0o710, uid, postdrop)
  makeFolder('maildrop', 0o1730, uid, postdrop)
}

function makeFolder(name: string, mode: number, uid: number, gid: number): void {
  const path = join(queue, name)
  mkdirSync(path, { recursive: true })
  chownSync(path, uid, gid)
  chmodSync(path, mode)
}
