// Records the time of the last backup in a file next to the data.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const fileName = 'last-backup'

/** Writes the time of a backup. `createdAt` is ISO 8601 UTC. */
export function writeBackupTime(directory: string, createdAt: string): void {
  writeFileSync(join(directory, fileName), `${createdAt}\n`, { mode: 0o600 })
}

/** Returns the time of the last backup, ms since 1970; undefined if no backup is recorded. */
export function readBackupTime(directory: string): number | undefined {
  try {
    const takenAt = Date.parse(readFileSync(join(directory, fileName), 'utf8').trim())
    return Number.isFinite(takenAt) ? takenAt : undefined
  } catch {
    return undefined
  }
}
