// Starts Exim as a mail server of the exam.
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ourHost } from '../names.ts'
import { describePrograms } from './find-mail-programs.ts'
import type { MailServer } from './mail-server.ts'
import { startMailServer } from './mail-server.ts'
import { mailHost, mailPorts, peopleHost, stagePath, users } from './names.ts'

const folder = join(stagePath, 'exim')

/** Configures Exim to run as a single user, because without root's rights it accepts a configuration other than its own. */
const describeExim = (program: string) => `
exim_path = ${program}
primary_hostname = ${mailHost}
spool_directory = ${folder}
log_file_path = ${folder}/%slog
deliver_drop_privilege
keep_environment = LD_LIBRARY_PATH
disable_ipv6
local_interfaces = 127.0.0.1
daemon_smtp_ports = ${mailPorts.server}
tls_advertise_hosts =
dns_again_means_nonexist = *
acl_smtp_rcpt = check_recipient

begin acl
check_recipient:
  warn control = dkim_disable_verify
  accept domains = ${ourHost}
  require domains = ${peopleHost}
  require verify = recipient
  accept

begin routers
agents:
  driver = manualroute
  domains = ${ourHost}
  route_list = * 127.0.0.1 byname
  self = send
  transport = agents
gone:
  driver = redirect
  domains = ${peopleHost}
  local_parts = gone
  no_verify
  allow_fail
  data = :fail: Unrouteable address
people:
  driver = accept
  domains = ${peopleHost}
  check_local_user
  transport = mailbox

begin transports
agents:
  driver = smtp
  protocol = lmtp
  port = ${mailPorts.ours}
mailbox:
  driver = appendfile
  maildir_format
  return_path_add
  directory = ${stagePath}/home/$local_part_data/Maildir
  user = Debian-exim

begin retry
* * F,1h,1m
`

export function startExim(packageRoot: string): Promise<MailServer> {
  const { uid, gid } = users['Debian-exim']
  const path = join(folder, 'exim.conf')
  const program = join(packageRoot, 'usr/sbin/exim4')
  mkdirSync(folder, { recursive: true })
  chownSync(folder, uid, gid)
  chownSync(users.alice.home, uid, gid)
  writeFileSync(path, describeExim(program))
  // A program that changes its user by itself may not load unpacked libraries.
  chmodSync(program, 0o755)
  return startMailServer({
    name: 'Exim',
    command: [program, '-C', path, '-bdf', '-q10s'],
    env: { LD_LIBRARY_PATH: describePrograms(packageRoot).libraries },
    logPath: join(folder, 'mainlog'),
  })
}
