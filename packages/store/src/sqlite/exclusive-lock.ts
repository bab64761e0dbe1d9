// Locks a database file for one process.
import { DatabaseSync } from 'node:sqlite'
import { ConfigError } from '@postern/message'
import { toOpenError } from './inspect-file.ts'
import { createPrivateFile } from './private-file.ts'
import { primaryCodeOf } from './write/sqlite-errors.ts'

/** The time to wait for the lock, ms. It covers a command that holds the lock briefly to check whether a gateway runs. */
const lockTimeoutMs = 1_000

/**
 * Locks the data directory for this process. The operating system releases the lock, however the process ends.
 * @returns the function that releases it
 * @throws ConfigError if another process holds it
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
