// Creates the private network of the exam with mail servers.
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ourHost } from '../names.ts'
import { runCommand } from '../run-command.ts'
import { mailHost, peopleHost, postdrop, stagePath, users } from './names.ts'

/**
 * Creates a network in the fresh namespace of this process, with loopback, names and users of its own. It changes no file of the machine, and nothing
 * can leave it.
 */
export async function openMailNetwork(directory: string): Promise<void> {
  const userEntries = Object.entries(users)
  const files = {
    hosts: [`127.0.0.1 localhost ${mailHost} ${peopleHost} ${ourHost}`],
    passwd: userEntries.map(([name, { uid, gid, home }]) => `${name}:x:${uid}:${gid}::${home}:/bin/false`),
    group: [...userEntries.map(([name, { gid }]) => `${name}:x:${gid}:`), `postdrop:x:${postdrop}:`],
  }
  await runCommand('ip', ['link', 'set', 'lo', 'up'])
  for (const [name, lines] of Object.entries(files)) {
    const path = join(directory, name)
    writeFileSync(path, `${name === 'hosts' ? '' : readOtherEntries(`/etc/${name}`)}${lines.join('\n')}\n`)
    await runCommand('mount', ['--bind', path, `/etc/${name}`])
  }
  chmodSync(directory, 0o755)
  await runCommand('mount', ['--bind', directory, stagePath])
  for (const { uid, gid, home } of [users.alice, users.bea, users.gone]) {
    mkdirSync(home, { recursive: true })
    chownSync(home, uid, gid)
  }
}

/** Returns the machine's users or groups, except for those that have our names. */
function readOtherEntries(path: string): string {
  const isOurs = (line: string) => Object.hasOwn(users, line.split(':')[0] ?? '') || line.startsWith('postdrop:')
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter(line => line && !isOurs(line))
    .map(line => `${line}\n`)
    .join('')
}
