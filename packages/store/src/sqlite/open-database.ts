// Opens the database file of a gateway.
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { ConfigError } from '@postern/message'
import { migrateDatabase } from '../schema/migrate.ts'
import { refusePendingMigrations } from '../schema/pending-migrations.ts'
import { fileSqlOf } from '../sql/file-sql.ts'
import { refuseEmptyDatabase, refuseMissingDatabase } from './database-marker.ts'
import { findPendingMigrations, refuseDamagedAtStart, toOpenError } from './inspect-file.ts'
import { createPrivateFile } from './private-file.ts'

/**
 * The settings of the connection that writes. The cache holds every page of one transaction: among a million messages, 250 new ones change 10 MB of
 * pages. SQLite would write pages that do not fit before the commit, and compute the checksums of the write-ahead log again for each page that changes
 * after that.
 */
const pragmas = `
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA secure_delete = ON;
PRAGMA cache_size = -16384;
PRAGMA wal_autocheckpoint = 8192;
PRAGMA temp_store = MEMORY;
PRAGMA journal_size_limit = 67108864;
`

/** The time for which the start waits while another program has locked the file, ms. */
const openTimeoutMs = 5_000

/** Makes SQLite fail at once while another program has locked the file, because a wait would block the event loop. */
export function disableBusyTimeout(db: DatabaseSync): void {
  db.exec('PRAGMA busy_timeout = 0')
}

/**
 * Creates the function that truncates the write-ahead log. Deleted data is overwritten only in the file itself, while old pages stay in the log until
 * it is truncated. The function does not wait for readers.
 */
export function createWalTruncator(db: DatabaseSync): () => void {
  return () => db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
}

/**
 * Creates the function that rewrites the file (VACUUM), so that unused space contains no deleted data. The function may take long and blocks the process.
 */
export function createVacuum(db: DatabaseSync): () => void {
  const truncateWal = createWalTruncator(db)
  return () => {
    db.exec('VACUUM')
    truncateWal()
  }
}

/** Reads the size that the database itself reports, in bytes. */
export function readDatabaseBytes(db: DatabaseSync): number {
  const readPragma = (name: string) => Number(db.prepare(`PRAGMA ${name}`).get()?.[name])
  return readPragma('page_count') * readPragma('page_size')
}

interface OpenDatabaseOptions {
  /** If false, a file of an earlier release is refused, and no file is created. By default, such a file is migrated to the newest tables. */
  readonly mayMigrate?: boolean | undefined
}

/**
 * Opens a file that only its owner may read, and migrates it to the newest schema.
 * @throws ConfigError if the file is not a database of Postern, is damaged, or is missing although its marker file exists
 */
export function openDatabase(path: string, { mayMigrate = true }: OpenDatabaseOptions = {}): DatabaseSync {
  if (path !== ':memory:') {
    refuseMissingDatabase(path)
    if (!mayMigrate)
      refusePendingMigrations({ key: 'data', name: `"${path}"`, pendingChanges: findPendingMigrations(path) })
    createPrivateFile(path)
  }
  try {
    const db = new DatabaseSync(path, { timeout: openTimeoutMs, enableForeignKeyConstraints: false })
    return prepareDatabase(db, path)
  } catch (error) {
    throw toOpenError(error, path)
  }
}

/** Refuses a missing database, because only the start of a gateway may create one. @throws ConfigError */
export function requireDatabaseFile(path: string): void {
  refuseMissingDatabase(path)
  if (existsSync(path)) return
  const fix = 'Start a gateway first, which makes it, or name its configuration by --config.'
  throw new ConfigError('data', `there is no database "${path}"`, fix)
}

function prepareDatabase(db: DatabaseSync, path: string): DatabaseSync {
  try {
    db.exec(pragmas)
    if (path !== ':memory:') refuseEmptyDatabase(fileSqlOf(db), path)
    refuseDamagedAtStart(db, path)
    migrateDatabase(db, { path })
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
