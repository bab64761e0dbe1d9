// Locks a database file for one process.
import { DatabaseSync } from 'node:sqlite'
import { ConfigError } from '@postern/message'
import { toOpenError } from './inspect-file.ts'
import { createPrivateFile } from './private-file.ts'
import { primaryCodeOf } from './write/sqlite-errors.ts'

/** The maximum wait for the lock, ms. A command that checks whether a gateway runs also acquires the lock for a moment. */
const lockTimeoutMs = 1_000

/**
 * Locks a database for this process. The operating system releases the lock when the process ends for any reason.
 * @returns the function that releases the lock
 * @throws ConfigError if another process has the lock
 */
export function acquireExclusiveLock(path: string): () => void {
  const file = `${path}.lock`
  createPrivateFile(file)
  const lock = new DatabaseSync(file, { timeout: lockTimeoutMs })
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if (primaryCodeOf(error) !== 5) throw toOpenError(error, file)
    const fix = 'Stop the other one, or give this one a "data" directory of its own.'
    throw new ConfigError('data', `another gateway is running on "${path}"`, fix, { cause: error })
  }
  return () => lock.close()
}
