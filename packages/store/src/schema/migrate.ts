// Migrates a file to the newest tables when the store opens it.
import type { FileDatabase } from '../sql/sql.ts'
import { sqlOf } from '../sql/sql.ts'
import { readTableNames } from './expected-tables.ts'
import { refuseUnknownSchema } from './known-schema.ts'
import { schemaSteps } from './steps.ts'

/** The `PRAGMA application_id` of our files: "Pstn" in ASCII. Files of number 1 have none. */
const applicationId = 0x5073746e

interface Migration {
  /** The path of the file, for messages. */
  readonly path?: string | undefined
  readonly steps?: readonly string[] | undefined
}

/**
 * Migrates a file to the newest tables, by all steps or none.
 * @throws ConfigError `data` if a newer release wrote it, or a program with unknown tables
 */
export function migrateDatabase(db: FileDatabase, { path = ':memory:', steps = schemaSteps }: Migration = {}): void {
  refuseUnknownFile(db, { path, steps })
  if (readSchemaNumber(db) === steps.length) return
  // Another process may be migrating the same file, so the number is read inside the transaction.
  db.exec('BEGIN IMMEDIATE')
  try {
    refuseUnknownFile(db, { path, steps })
    for (const step of steps.slice(readSchemaNumber(db))) db.exec(step)
    db.exec(`PRAGMA user_version = ${steps.length}; PRAGMA application_id = ${applicationId}`)
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

interface FileInQuestion {
  readonly path: string
  readonly key?: 'data' | 'backup'
  readonly steps?: readonly string[]
}

/** Refuses a file whose tables are not those of a number that this release knows. An empty file passes. @throws ConfigError */
export function refuseUnknownFile(db: FileDatabase, { path, key = 'data', steps = schemaSteps }: FileInQuestion): void {
  const number = readSchemaNumber(db)
  if (number === 0) return
  const isMarked = readPragma(db, 'application_id') === applicationId
  refuseUnknownSchema({ key, name: `"${path}"`, number, isMarked, readTables: () => readTableNames(db) }, steps)
}

/** Returns the number of steps that a file has had; 0 for a new one. */
export function readSchemaNumber(db: FileDatabase): number {
  return readPragma(db, 'user_version')
}

function readPragma(db: FileDatabase, name: 'user_version' | 'application_id'): number {
  return sqlOf(db).prepare<Record<string, number>>(`PRAGMA ${name}`).get()?.[name] ?? 0
}
