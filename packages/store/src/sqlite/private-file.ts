// Creates files that only their owner may read.
import { closeSync, fchmodSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError } from '@postern/message'

/**
 * Makes a file readable only by its owner, and creates an empty file if there is none. SQLite gives its journals the same mode.
 * @throws ConfigError `data` if this process may not write the file
 */
export function createPrivateFile(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    closePrivately(openSync(path, 'a', 0o600))
  } catch (cause) {
    throw new ConfigError('data', `"${path}" cannot be written`, 'Name a directory of your own.', { cause })
  }
}

function closePrivately(file: number): void {
  try {
    fchmodSync(file, 0o600)
  } finally {
    closeSync(file)
  }
}
