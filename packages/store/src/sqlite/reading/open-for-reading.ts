// Opens a database for reading and leaves its files and its folder unchanged.
import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { ConfigError } from '@postern/message'
import { primaryCodeOf } from '../write/sqlite-errors.ts'
import { openCopy } from './open-copy.ts'

/** A database that is open for reading only. */
export interface ReadDatabase {
  readonly db: DatabaseSync
  /** True if no gateway uses the file. */
  readonly isUnused: boolean
  /**
   * Returns false if the file has changed. In that case no result or error since the opening is reliable. Call it after each query.
   */
  isUnchanged(): boolean
  close(): void
}

/** The time for which a reader waits while another program has locked the file, ms. */
const lockTimeoutMs = 30_000

/** The maximum number of attempts to open a file that keeps changing. */
const maxAttempts = 3

/**
 * Opens a file of a gateway and runs `check` on it. A reader of a write-ahead log creates files beside the database, unless a gateway has created them.
 * So a file that no gateway uses is opened as immutable, or as a copy if a killed gateway left data in its log.
 * @throws ConfigError if the file changes at every attempt, Error of `check`, of SQLite or of the system
 */
export function openForReading(path: string, check: (db: DatabaseSync) => void = () => {}): ReadDatabase {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const readDatabase = openAndCheck(path, check)
    if (readDatabase) return readDatabase
  }
  throw createChangedError(path)
}

export function createChangedError(path: string): ConfigError {
  return new ConfigError('data', `"${path}" changed while it was read`, 'Run the command again.')
}

/** Opens the file once. Returns undefined if the file changed in the meantime. */
function openAndCheck(path: string, check: (db: DatabaseSync) => void): ReadDatabase | undefined {
  const readDatabase = openUnchecked(path)
  if (!readDatabase) return undefined
  try {
    check(readDatabase.db)
    if (readDatabase.isUnchanged()) return readDatabase
  } catch (error) {
    if (readDatabase.isUnchanged()) {
      readDatabase.close()
      throw error
    }
  }
  readDatabase.close()
  return undefined
}

function openUnchecked(path: string): ReadDatabase | undefined {
  const isUnchanged = createChangeCheck(path)
  const isLogUnchanged = createChangeCheck(`${path}-wal`)
  if (isInUse(path)) return openUsed(path)
  if (!hasWal(path)) return openImmutable(path, isUnchanged)
  const copy = openCopy(path)
  if (isUnchanged() && isLogUnchanged()) return { ...copy, isUnused: true, isUnchanged: () => true }
  copy.close()
  return undefined
}

function openUsed(path: string): ReadDatabase {
  const db = new DatabaseSync(path, { readOnly: true, timeout: lockTimeoutMs })
  return { db, isUnused: false, isUnchanged: () => true, close: () => db.close() }
}

/**
 * Opens the file as immutable and without a lock, because a start must not wait for a reader. A gateway that starts changes the file only when it
 * writes its log into the file.
 */
function openImmutable(path: string, isUnchanged: () => boolean): ReadDatabase {
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  const db = new DatabaseSync(url, { readOnly: true })
  return { db, isUnused: true, isUnchanged, close: () => db.close() }
}

/** Creates a function that returns true while a file is unchanged since this call. */
function createChangeCheck(path: string): () => boolean {
  const initialDescription = describeFile(path)
  return () => describeFile(path) === initialDescription
}

function describeFile(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats ? `${stats.ino} ${stats.size} ${stats.mtimeNs}` : ''
}

function hasWal(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0
}

/** Returns true if a gateway has the lock that it acquires at its start. */
function isInUse(path: string): boolean {
  const file = `${path}.lock`
  if (!existsSync(file)) return false
  const lock = new DatabaseSync(file, { readOnly: true })
  try {
    lock.prepare('SELECT 1 FROM sqlite_schema').get()
    return false
  } catch (error) {
    if (primaryCodeOf(error) === 5) return true
    throw error
  } finally {
    lock.close()
  }
}
