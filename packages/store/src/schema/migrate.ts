import { ConfigError } from '@postern/core'
import type { Database } from '../engine/database.ts'
import { prepareQuery } from '../engine/database.ts'
import { storeSchema } from './001-store.ts'
import { relationSchema } from './002-relations.ts'
import { actionTableSchema } from './003-acts.ts'
import { backgroundSchema } from './004-background.ts'
import { watchSchema } from './005-watches.ts'
import { blobFileSchema } from './006-blob-files.ts'
import { budgetSchema } from './007-budgets.ts'
import { quotaSchema } from './008-quotas.ts'
import { expirySchema } from './009-expiry.ts'
import { requirementTableSchema } from './010-requirements.ts'
import { queueModeSchema } from './011-queue-modes.ts'
import { personSchema } from './012-people.ts'
import { transcriptSchema } from './013-transcript.ts'
import { ownThreadSchema } from './014-own-threads.ts'
import { roomSchema } from './015-room.ts'
import { noteSchema } from './016-notes.ts'
import { keptDataSchema } from './017-kept-data.ts'

/** In order; a file at version n has had the first n. Published ones are never edited, only followed by the next. */
export const migrations: readonly string[] = [
  storeSchema,
  relationSchema,
  actionTableSchema,
  backgroundSchema,
  watchSchema,
  blobFileSchema,
  budgetSchema,
  quotaSchema,
  expirySchema,
  requirementTableSchema,
  queueModeSchema,
  personSchema,
  transcriptSchema,
  ownThreadSchema,
  roomSchema,
  noteSchema,
  keptDataSchema,
]

/** Brings a file to the newest schema, each step whole or not at all. @throws ConfigError when a newer release wrote it */
export function migrateDatabase(db: Database): void {
  if (readVersion(db) === migrations.length) return
  // Another process may be migrating the same file: the version counts only inside the transaction.
  db.exec('BEGIN IMMEDIATE')
  try {
    const version = readVersion(db)
    if (version > migrations.length) {
      throw new ConfigError('data', 'was written by a newer release', 'Start that release or a later one.')
    }
    for (const migration of migrations.slice(version)) db.exec(migration)
    db.exec(`PRAGMA user_version = ${migrations.length}`)
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

function readVersion(db: Database): number {
  return prepareQuery<{ user_version: number }>(db, 'PRAGMA user_version').get()?.user_version ?? 0
}
