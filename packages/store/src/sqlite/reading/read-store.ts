// Opens a store for a command that only reads the data of a gateway.
import { existsSync } from 'node:fs'
import type { ByteStore, Log } from '@postern/message'
import { Unavailable } from '@postern/message'
import type { GatewayStore } from '../../assemble.ts'
import { assembleStore, completeStore } from '../../assemble.ts'
import type { StoredChannel } from '../../channels/channel-facts.ts'
import { createBlobFiles } from '../../files/blob-files.ts'
import { openHandledSecret } from '../../peers/handled-keys.ts'
import { readSchemaVersion, refuseUnknownFile } from '../../schema/migrate.ts'
import { describePendingMigrations, refusePendingMigrations } from '../../schema/pending-migrations.ts'
import { fileSqlOf } from '../../sql/file-sql.ts'
import { createSqliteSql } from '../../sql/sqlite-sql.ts'
import { createNotices } from '../../transaction/notice-hub.ts'
import { refusingWriter } from '../../transaction/refusing-writer.ts'
import { refuseMissingDatabase } from '../database-marker.ts'
import { guardDatabase } from '../guarded-database.ts'
import { refuseDamagedAtStart, toOpenError } from '../inspect-file.ts'
import { openDatabase } from '../open-database.ts'
import type { ReadDatabase } from './open-for-reading.ts'
import { openForReading } from './open-for-reading.ts'

interface ReadStoreOptions {
  /** The database file. */
  readonly path: string
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly log: Log
  /** All channels whose messages are stored. */
  readonly channels: readonly StoredChannel[]
  /** The storage for the bytes of objects, if they are not stored in the file. */
  readonly bytes?: ByteStore | undefined
}

/**
 * Opens a database for reading. If no gateway has created it yet, the store is empty, and no file is created.
 * @throws ConfigError `data` if the file is not of this release, is damaged, or is missing although its marker file exists
 */
export async function readSqliteStore({ path, now, log, channels, bytes }: ReadStoreOptions): Promise<GatewayStore> {
  refuseMissingDatabase(path)
  const { db, isUnused: isSoleWriter, isUnchanged, close } = existsSync(path) ? openChecked(path) : openEmpty()
  const requireUnchanged = () => {
    if (!isUnchanged()) throw new Unavailable('Cannot read: the data changed meanwhile; run the command again')
  }
  const file = guardDatabase(db, { onDamage: requireUnchanged, afterStatement: requireUnchanged })
  const store = assembleStore({
    db: createSqliteSql(file),
    handledSecret: openHandledSecret(fileSqlOf(file), false),
    openWriter: () => refusingWriter,
    files: createBlobFiles({ directory: `${path}.blobs`, isNeeded: () => true, log }),
    notices: createNotices(log),
    ...{ now, log, channels, bytes, isSoleWriter },
    readsOnly: true,
    onDurable: () => undefined,
    release: close,
  })
  return completeStore(store, { now, isSoleWriter, readsOnly: true })
}

function openEmpty(): ReadDatabase {
  const db = openDatabase(':memory:')
  return { db, isUnused: true, isUnchanged: () => true, close: () => db.close() }
}

function openChecked(path: string): ReadDatabase {
  try {
    return openForReading(path, db => {
      db.exec('PRAGMA temp_store = MEMORY; PRAGMA cache_size = -4096')
      refusePendingMigrations({
        key: 'data',
        name: `"${path}"`,
        pendingChanges: describePendingMigrations(readSchemaVersion(db)),
      })
      refuseUnknownFile(db, { path })
      refuseDamagedAtStart(db, path)
    })
  } catch (error) {
    throw toOpenError(error, path)
  }
}
