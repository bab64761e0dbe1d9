import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const fileName = 'last-backup'

/** Remembers beside the data that a copy of it was made. `createdAt`: ISO 8601 UTC. */
export function writeBackupTime(directory: string, createdAt: string): void {
  writeFileSync(join(directory, fileName), `${createdAt}\n`, { mode: 0o600 })
}

/** ms; undefined when none is known. */
export function readBackupTime(directory: string): number | undefined {
  try {
    const at = Date.parse(readFileSync(join(directory, fileName), 'utf8').trim())
    return Number.isFinite(at) ? at : undefined
  } catch {
    return undefined
  }
}
