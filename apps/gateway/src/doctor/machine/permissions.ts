import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { failure, ok, warning } from '../../checks/finding.ts'
import type { CheckOutcome } from '../check.ts'
import { about, skip } from '../check.ts'
import type { MachineDeps } from '../deps.ts'

/** They hold the private keys and the operator's token. */
const secretFiles = ['postern.db', 'operator-token'] as const

/** Whether somebody else on this machine may read or change what the data folder holds. */
export function checkDataPermissions({ directory, facts }: MachineDeps): CheckOutcome {
  if (!existsSync(directory)) return skip(directory, 'there is no data folder yet')
  if (process.platform === 'win32') return skip(directory, 'this system has no modes of files')
  const { mode, uid } = statSync(directory)
  const user = facts.readUserId()
  if (user !== undefined && user !== 0 && uid !== user)
    return about(directory, warning('the data folder belongs to another user', `chown -R ${user} ${directory}`))
  if ((mode & 0o022) !== 0)
    return about(directory, failure('others may put files into the data folder', `chmod 700 ${directory}`))
  const open = (mode & 0o005) === 0 ? [] : secretFiles.map(name => join(directory, name)).filter(isReadByOthers)
  return open.length > 0
    ? about(directory, failure(`others on this machine may read ${open.join(', ')}`, `chmod 700 ${directory}`))
    : about(directory, ok('nobody else may read the keys in the data folder'))
}

function isReadByOthers(path: string): boolean {
  return existsSync(path) && (statSync(path).mode & 0o044) !== 0
}
