import { chmodSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { backup, DatabaseSync } from 'node:sqlite'
import { migrations } from '../schema/migrate.ts'
import { toOpenError } from '../sqlite/inspect-file.ts'
import { createPrivateFile } from '../sqlite/private-file.ts'
import { createBackupError } from './manifest.ts'

interface Snapshot {
  readonly schemaVersion: number
  /** Digests of the files that the database names. */
  readonly blobs: readonly string[]
}

/** How long another program may keep the file locked, ms. */
const lockTimeoutMs = 30_000

/** Copies the database as it is at one moment, beside whoever works with it. @throws ConfigError `data` */
export async function copyDatabase(source: string, target: string): Promise<Snapshot> {
  await rm(target, { force: true })
  createPrivateFile(target)
  const db = openReadOnly(source)
  try {
    // All pages in one step: in steps, each write of the gateway would make it begin anew.
    await backup(db, target, { rate: 2 ** 31 - 1 })
  } catch (error) {
    throw toOpenError(error, source)
  } finally {
    db.close()
  }
  chmodSync(target, 0o600)
  return inspectCopy(target)
}

function openReadOnly(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path, { readOnly: true, timeout: lockTimeoutMs })
  } catch (error) {
    throw toOpenError(error, path)
  }
}

/** Reads a copy from end to end; it is one file afterwards, without a log beside it. @throws ConfigError when it is damaged or of a newer release */
export function inspectCopy(path: string): Snapshot {
  try {
    const db = new DatabaseSync(path)
    try {
      db.exec('PRAGMA journal_mode = DELETE')
      return readSnapshot(db)
    } finally {
      db.close()
    }
  } catch (error) {
    throw toOpenError(error, path)
  }
}

function readSnapshot(db: DatabaseSync): Snapshot {
  const found = Object.values(db.prepare('PRAGMA quick_check(1)').get() ?? {})[0]
  if (found !== 'ok') throw createBackupError(`the copy of the database is damaged (${found})`, 'Look after the disk.')
  const version = Number(db.prepare('PRAGMA user_version').get()?.user_version)
  if (version > migrations.length) {
    throw createBackupError('the database was written by a newer release', 'Use that release or a later one.')
  }
  if (version === 0) throw createBackupError('there is nothing in the database', 'Start a gateway on it first.')
  const rows = db.prepare('SELECT digest FROM blobs WHERE is_file = 1').all() as { digest: string }[]
  return { schemaVersion: version, blobs: rows.map(({ digest }) => digest) }
}
