// Checks a database file for damage, and explains why a file cannot be opened.
import { existsSync, statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { ConfigError } from '@postern/message'
import { readSchemaVersion } from '../schema/migrate.ts'
import { describePendingMigrations } from '../schema/pending-migrations.ts'
import { refuseMissingDatabase } from './database-marker.ts'
import { openForReading } from './reading/open-for-reading.ts'
import { primaryCodeOf } from './write/sqlite-errors.ts'

/** The maximum size of a file that is checked as a whole at the start, in bytes. The check takes seconds for each gigabyte. */
const maxCheckedBytes = 512 * 1024 * 1024

/** Reads the whole file. @throws ConfigError `data` if it is damaged */
function refuseDamagedFile(db: DatabaseSync, path: string): void {
  const [firstRow] = db.prepare('PRAGMA quick_check(1)').all()
  // The first line of the report contains only the name of the database.
  const report = String(Object.values(firstRow ?? { none: 'no answer' })[0])
    .split('\n')
    .at(-1)
  if (report !== 'ok') throw toOpenError(Object.assign(new Error(report), { errcode: 11 }), path)
}

/** Refuses a damaged file at the start, unless the check would take too long. */
export function refuseDamagedAtStart(db: DatabaseSync, path: string): void {
  if (path !== ':memory:' && statSync(path).size <= maxCheckedBytes) refuseDamagedFile(db, path)
}

type Explanation = readonly [problem: string, fix: string]

const rescueFix = 'Put it back from a backup, or save what can be read: sqlite3 postern.db .recover | sqlite3 saved.db'
const damageExplanation: Explanation = ['is damaged', rescueFix]
const fullDiskExplanation: Explanation = ['cannot be opened: the disk is full', 'Make room on it, then start again.']
const readErrorExplanation: Explanation = [
  'cannot be read or written',
  'Look after the disk, and at who owns the file.',
]
/** The explanations by SQLite's primary result code. */
const explanations: Readonly<Record<number, Explanation>> = {
  5: ['is held by another program', 'End that program ("fuser" names it), then start again.'],
  8: ['cannot be written', 'Give it to the user of the gateway, on a disk that takes writes.'],
  10: readErrorExplanation,
  11: damageExplanation,
  13: fullDiskExplanation,
  14: readErrorExplanation,
  26: ['is no database', 'It must be a file of ours, or not exist yet, in a directory that can be written.'],
}

/** Converts an error of a file into a configuration error that explains the cause to the operator. */
export function toOpenError(error: unknown, path: string): ConfigError {
  if (error instanceof ConfigError) return error
  const [problem, fix] = explanations[primaryCodeOf(error) ?? 26] ?? [
    'cannot be opened as a database',
    'It must be a file of ours, or not exist yet, in a directory that can be written.',
  ]
  const reason = error instanceof Error ? ` (${error.message})` : ''
  return new ConfigError('data', `"${path}" ${problem}${reason}`, fix, { cause: error })
}

/** Describes the changes to the tables of a file that a start would make, and opens the file only for reading. Returns undefined if there are none. */
export function findPendingMigrations(path: string): string | undefined {
  if (!existsSync(path)) return undefined
  try {
    let pending: string | undefined
    openForReading(path, db => {
      pending = describePendingMigrations(readSchemaVersion(db))
    }).close()
    return pending
  } catch (error) {
    throw toOpenError(error, path)
  }
}

/**
 * Checks a whole database, even while a gateway uses it. It does nothing if there never was a database.
 * @throws ConfigError `data` if it is damaged, unreadable or missing
 */
export function inspectSqlite(path: string): void {
  if (!existsSync(path)) {
    refuseMissingDatabase(path)
    return
  }
  try {
    openForReading(path, db => refuseDamagedFile(db, path)).close()
  } catch (error) {
    throw toOpenError(error, path)
  }
}
