import { DatabaseSync } from 'node:sqlite'
import { ConfigError } from '@postern/core'
import { primaryCodeOf } from '../engine/sqlite-errors.ts'
import { toOpenError } from './inspect-file.ts'
import { createPrivateFile } from './private-file.ts'

/**
 * Takes the data directory for this process alone; the operating system lets go of it however the process ends.
 * @returns the function that lets go
 * @throws ConfigError when another process has it
 */
export function takeExclusiveLock(path: string): () => void {
  const file = `${path}.lock`
  createPrivateFile(file)
  const lock = new DatabaseSync(file)
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
