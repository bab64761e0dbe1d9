// Copies a database while a gateway uses it.
import { chmodSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { backup, DatabaseSync } from 'node:sqlite'
import { readSchemaVersion, refuseUnknownFile } from '../schema/migrate.ts'
import { toOpenError } from '../sqlite/inspect-file.ts'
import { createPrivateFile } from '../sqlite/private-file.ts'
import type { ReadDatabase } from '../sqlite/reading/open-for-reading.ts'
import { createChangedError, openForReading } from '../sqlite/reading/open-for-reading.ts'
import { createBackupError } from './manifest.ts'

interface Snapshot {
  readonly schemaVersion: number
  /** The digests of the files to which the database refers. */
  readonly blobDigests: readonly string[]
}

/** Copies the database as it is at one moment, even while a gateway works with it. @throws ConfigError `data` */
export async function copyDatabase(source: string, target: string): Promise<Snapshot> {
  await rm(target, { force: true })
  createPrivateFile(target)
  const { db, isUnchanged, close } = openSource(source)
  try {
    // All pages are copied in one step. Otherwise each write of the gateway would restart the copy.
    await backup(db, target, { rate: 2 ** 31 - 1 })
    if (!isUnchanged()) throw createChangedError(source)
  } catch (error) {
    throw toOpenError(isUnchanged() ? error : createChangedError(source), source)
  } finally {
    close()
  }
  chmodSync(target, 0o600)
  return finishCopy(target, { displayName: source })
}

function openSource(path: string): ReadDatabase {
  try {
    return openForReading(path)
  } catch (error) {
    throw toOpenError(error, path)
  }
}

/**
 * Checks a whole copy of a database, and merges its log into one file. Errors name the database by `displayName`.
 * @throws ConfigError if the copy is damaged or was written by a newer release
 */
export function finishCopy(path: string, { displayName = path }: { readonly displayName?: string } = {}): Snapshot {
  try {
    const db = new DatabaseSync(path)
    try {
      db.exec('PRAGMA journal_mode = DELETE')
      return readSnapshot(db, displayName)
    } finally {
      db.close()
    }
  } catch (error) {
    throw toOpenError(error, path)
  }
}

function readSnapshot(db: DatabaseSync, displayName: string): Snapshot {
  const checkResult = Object.values(db.prepare('PRAGMA quick_check(1)').get() ?? {})[0]
  if (checkResult !== 'ok')
    throw createBackupError(`the copy of the database is damaged (${checkResult})`, 'Check the disk for errors.')
  const version = readSchemaVersion(db)
  refuseUnknownFile(db, { key: 'backup', path: displayName })
  if (version === 0) throw createBackupError('there is nothing in the database', 'Start a gateway on it first.')
  const rows = db.prepare('SELECT digest FROM blobs WHERE is_file = 1').all() as { digest: string }[]
  return { schemaVersion: version, blobDigests: rows.map(({ digest }) => digest) }
}
