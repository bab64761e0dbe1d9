// Starts OpenSMTPD as a mail server of the exam.
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ourHost } from '../names.ts'
import { runCommand } from '../run-command.ts'
import { describePrograms } from './find-mail-programs.ts'
import type { MailServer } from './mail-server.ts'
import { startMailServer } from './mail-server.ts'
import { goneAddress, mailHost, mailPorts, peopleHost, stagePath, users } from './names.ts'

const folder = join(stagePath, 'opensmtpd')

const configuration = `
listen on 127.0.0.1 port ${mailPorts.server} hostname ${mailHost}
action "people" maildir "${stagePath}/home/%{user.username}/Maildir"
action "agents" relay host lmtp://127.0.0.1:${mailPorts.ours} helo ${mailHost}
action "gone" relay host lmtp://127.0.0.1:${mailPorts.ours} helo ${mailHost}
match from any for rcpt-to "${goneAddress}" action "gone"
match from any for domain "${peopleHost}" action "people"
match from any for domain "${ourHost}" action "agents"
`

/** Paths that are built into OpenSMTPD. A folder of the stage covers each of them, in this namespace only. */
const coveredPaths = { spool: '/var/spool', lib: '/var/lib', run: '/run' } as const

export async function startOpenSmtpd(packageRoot: string): Promise<MailServer> {
  const path = join(folder, 'smtpd.conf')
  for (const [name, target] of Object.entries(coveredPaths)) await cover(target, join(folder, name))
  await runCommand('mount', ['--bind', join(packageRoot, 'usr/libexec'), '/usr/libexec'])
  createFolders()
  writeFileSync(path, configuration)
  chmodSync(path, 0o600)
  return startMailServer({
    name: 'OpenSMTPD',
    command: [join(packageRoot, 'usr/sbin/smtpd'), '-d', '-f', path],
    env: { LD_LIBRARY_PATH: describePrograms(packageRoot).libraries },
    logPath: join(folder, 'log'),
  })
}

async function cover(target: string, replacement: string): Promise<void> {
  mkdirSync(replacement, { recursive: true })
  await runCommand('mount', ['--bind', replacement, target])
}

/** Creates the folders that the package creates on installation; an earlier server may have assigned alice's folder to its own user. */
function createFolders(): void {
  const { alice, opensmtpq } = users
  mkdirSync(join(folder, 'lib/opensmtpd/empty'), { recursive: true })
  const spool = join(folder, 'spool/smtpd')
  mkdirSync(spool, { recursive: true })
  chmodSync(spool, 0o711)
  for (const [name, uid, mode] of [
    ['corrupt', opensmtpq.uid, 0o700],
    ['incoming', opensmtpq.uid, 0o700],
    ['purge', opensmtpq.uid, 0o700],
    ['queue', opensmtpq.uid, 0o700],
    ['temporary', opensmtpq.uid, 0o700],
    ['offline', 0, 0o770],
  ] as const) {
    mkdirSync(join(spool, name))
    chownSync(join(spool, name), uid, name === 'offline' ? opensmtpq.gid : 0)
    chmodSync(join(spool, name), mode)
  }
  chownSync(alice.home, alice.uid, alice.gid)
}
