import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'

/** Makes an empty file readable by its owner alone, unless it is there. SQLite gives its journals the same mode. */
export function createPrivateFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  closeSync(openSync(path, 'a', 0o600))
}
