import { DatabaseSync } from 'node:sqlite'
import { sqlOf } from '../engine/database.ts'
import { migrateDatabase } from '../schema/migrate.ts'
import { refuseDamagedAtStart, toOpenError } from './inspect-file.ts'
import { refuseEmptyDatabase, refuseMissingDatabase } from './marker.ts'
import { createPrivateFile } from './private-file.ts'
import { takeNumberedParameters } from './statements/numbered-parameters.ts'

const pragmas = `
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA secure_delete = ON;
PRAGMA cache_size = -4096;
PRAGMA wal_autocheckpoint = 8192;
PRAGMA temp_store = MEMORY;
PRAGMA journal_size_limit = 67108864;
`

/** How long the start waits for another program that holds the file, ms. */
const openTimeoutMs = 5_000

/** From now on nothing waits within SQLite for another program: the event loop would stand still. */
export function stopWaiting(db: DatabaseSync): void {
  db.exec('PRAGMA busy_timeout = 0')
}

/** Empties the log of what was written, where old pages stand: what is deleted is overwritten only in the file itself. Waits for no reader. */
export function createScrub(db: DatabaseSync): () => void {
  return () => db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
}

/** Writes the file anew: what was deleted stands not even in the unused room of a page. Takes its time, in which nothing else is done. */
export function createRewrite(db: DatabaseSync): () => void {
  const scrub = createScrub(db)
  return () => {
    db.exec('VACUUM')
    scrub()
  }
}

/** How many bytes the database takes by its own account. */
export function readSize(db: DatabaseSync): number {
  const numberOf = (name: string) => Number(db.prepare(`PRAGMA ${name}`).get()?.[name])
  return numberOf('page_count') * numberOf('page_size')
}

/**
 * Opens the file, readable by its owner alone, at the newest schema.
 * @throws ConfigError when it is no database of ours, is damaged, or is gone while traces of it are left
 */
export function openDatabase(path: string): DatabaseSync {
  if (path !== ':memory:') {
    refuseMissingDatabase(path)
    createPrivateFile(path)
  }
  try {
    const db = new DatabaseSync(path, { timeout: openTimeoutMs, enableForeignKeyConstraints: false })
    takeNumberedParameters(db)
    return prepareDatabase(db, path)
  } catch (error) {
    throw toOpenError(error, path)
  }
}

function prepareDatabase(db: DatabaseSync, path: string): DatabaseSync {
  try {
    db.exec(pragmas)
    if (path !== ':memory:') refuseEmptyDatabase(sqlOf(db), path)
    refuseDamagedAtStart(db, path)
    migrateDatabase(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
