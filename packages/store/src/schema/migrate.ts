// Migrates a file to the newest tables when the store opens it.
import type { FileDatabase } from '../sql/file-sql.ts'
import { fileSqlOf } from '../sql/file-sql.ts'
import { readTableNames } from './expected-tables.ts'
import { refuseUnknownSchema } from './known-schema.ts'
import { schemaMigrations } from './migrations.ts'

/** The `PRAGMA application_id` of Postern's files, which is "Pstn" in ASCII. Files of version 1 have none. */
const applicationId = 0x5073746e

interface MigrationOptions {
  /** The path of the file, for messages. */
  readonly path?: string | undefined
  readonly steps?: readonly string[] | undefined
}

/**
 * Migrates a file to the newest tables in one transaction.
 * @throws ConfigError `data` if a newer release or an unknown program created the tables
 */
export function migrateDatabase(
  db: FileDatabase,
  { path = ':memory:', steps: migrations = schemaMigrations }: MigrationOptions = {},
): void {
  refuseUnknownFile(db, { path, steps: migrations })
  if (readSchemaVersion(db) === migrations.length) return
  // Another process may be migrating the same file, so the version is read inside the transaction.
  db.exec('BEGIN IMMEDIATE')
  try {
    refuseUnknownFile(db, { path, steps: migrations })
    for (const migration of migrations.slice(readSchemaVersion(db))) db.exec(migration)
    db.exec(`PRAGMA user_version = ${migrations.length}; PRAGMA application_id = ${applicationId}`)
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

interface CheckedFile {
  readonly path: string
  readonly key?: 'data' | 'backup'
  readonly steps?: readonly string[]
}

/** Refuses a file whose tables match no schema version of this release. An empty file passes. @throws ConfigError */
export function refuseUnknownFile(
  db: FileDatabase,
  { path, key = 'data', steps: migrations = schemaMigrations }: CheckedFile,
): void {
  const version = readSchemaVersion(db)
  if (version === 0) return
  const isMarked = readPragma(db, 'application_id') === applicationId
  refuseUnknownSchema({ key, name: `"${path}"`, version, isMarked, readTables: () => readTableNames(db) }, migrations)
}

/** Reads the schema version of a file, which is the number of its migrations. A new file has the version 0. */
export function readSchemaVersion(db: FileDatabase): number {
  return readPragma(db, 'user_version')
}

function readPragma(db: FileDatabase, name: 'user_version' | 'application_id'): number {
  return fileSqlOf(db).prepare<Record<string, number>>(`PRAGMA ${name}`).get()?.[name] ?? 0
}
