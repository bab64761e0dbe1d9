import { closeSync, fchmodSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'

/** Makes a file readable by its owner alone, an empty one if there is none. SQLite gives its journals the same mode. */
export function createPrivateFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const file = openSync(path, 'a', 0o600)
  try {
    fchmodSync(file, 0o600)
  } finally {
    closeSync(file)
  }
}
