import { ConfigError } from '@postern/core'
import type { FileDatabase } from '../engine/database.ts'
import { sqlOf } from '../engine/database.ts'
import { firstSchema } from './first.ts'

/** In order; a file at version n has had the first n. Released ones are never edited, only followed by the next. */
export const migrations: readonly string[] = [firstSchema]

/**
 * Brings a file to the newest schema, all `steps` or none.
 * @throws ConfigError when a newer release wrote it
 */
export function migrateDatabase(db: FileDatabase, steps: readonly string[] = migrations): void {
  if (readVersion(db) === steps.length) return
  // Another process may be migrating the same file: the version counts only inside the transaction.
  db.exec('BEGIN IMMEDIATE')
  try {
    const version = readVersion(db)
    if (version > steps.length) {
      throw new ConfigError('data', 'was written by a newer release', 'Start that release or a later one.')
    }
    for (const step of steps.slice(version)) db.exec(step)
    db.exec(`PRAGMA user_version = ${steps.length}`)
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

function readVersion(db: FileDatabase): number {
  return sqlOf(db).prepare<{ user_version: number }>('PRAGMA user_version').get()?.user_version ?? 0
}
