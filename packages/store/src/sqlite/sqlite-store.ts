// Opens a store in a file of SQLite.
import type { DatabaseSync } from 'node:sqlite'
import type { ByteStore, Log } from '@postern/message'
import type { GatewayStore } from '../assemble.ts'
import { assembleStore, completeStore } from '../assemble.ts'
import { createFileReferenceCheck } from '../blobs/blob-table.ts'
import type { StoredChannel } from '../channels/channel-facts.ts'
import { createBlobFiles, noBlobFiles } from '../files/blob-files.ts'
import { openHandledSecret } from '../peers/handled-keys.ts'
import { endAllLeases } from '../queue/commit/work-store.ts'
import { fileSqlOf } from '../sql/file-sql.ts'
import { createSqliteSql } from '../sql/sqlite-sql.ts'
import { createNotices } from '../transaction/notice-hub.ts'
import { listNotices, readWholeTask } from '../transaction/notices.ts'
import { countStart } from './database-marker.ts'
import { acquireExclusiveLock } from './exclusive-lock.ts'
import { watchPages } from './file-check.ts'
import { noOpenFile, watchOpenFile } from './file-watch.ts'
import { guardDatabase } from './guarded-database.ts'
import { toOpenError } from './inspect-file.ts'
import {
  createVacuum,
  createWalTruncator,
  disableBusyTimeout,
  openDatabase,
  readDatabaseBytes,
  requireDatabaseFile,
} from './open-database.ts'
import type { SyncFile } from './write/log-sync.ts'
import { openLogSync, syncBeside } from './write/log-sync.ts'
import { createSqliteTransactions } from './write/transactions.ts'
import { createWriter } from './write/writer.ts'

interface SqliteStoreOptions {
  /** The path of the file, or `:memory:`. A new file is readable only by its owner. */
  readonly path: string
  /** Returns milliseconds since the epoch. */
  readonly now: () => number
  readonly log: Log
  /** All channels whose messages are stored. */
  readonly channels: readonly StoredChannel[]
  /** True if no other process may open this store with `exclusive`. Work that an earlier process has leased is then due at once. */
  readonly exclusive?: boolean | undefined
  /** The time between two checks of the whole file for damage, ms. The default is a minute. Only an exclusive store runs these checks. */
  readonly checkEveryMs?: number | undefined
  /** Waits until all data of an open file are on disk. The default is `fdatasync`. */
  readonly syncLog?: SyncFile | undefined
  /** The storage for the bytes of objects, if they are not stored in the file. */
  readonly bytes?: ByteStore | undefined
  /** If false, a file of an earlier release is refused, and no file is created. By default, such a file is migrated to the newest tables. */
  readonly mayMigrate?: boolean | undefined
}

/**
 * Opens the store on SQLite. A write resolves when its data are on disk. Many writes share one sync of the write-ahead log, outside the event loop.
 * @throws ConfigError `data` if the file cannot be used
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<GatewayStore> {
  if (options.mayMigrate === false && options.path !== ':memory:') requireDatabaseFile(options.path)
  const unlock = options.exclusive && options.path !== ':memory:' ? acquireExclusiveLock(options.path) : () => {}
  try {
    return openUnlocked(options, unlock)
  } catch (error) {
    unlock()
    throw error
  }
}

function openUnlocked(
  { path, now, log, channels, exclusive, bytes, mayMigrate, syncLog, checkEveryMs = 60_000 }: SqliteStoreOptions,
  unlock: () => void,
): GatewayStore {
  const file = openDatabase(path, { mayMigrate })
  const handledSecret = decideHandledSecret(file, { path, isWritable: mayMigrate !== false })
  if (exclusive) prepareExclusive(file, path, now())
  disableBusyTimeout(file)
  const openFile =
    path === ':memory:' ? noOpenFile : watchOpenFile({ path, readSize: () => readDatabaseBytes(file), log })
  const db = guardDatabase(file, { onDamage: openFile.reportDamage })
  const durability =
    path === ':memory:' ? undefined : syncBeside(file, openLogSync(path, syncLog), openFile.reportDamage)
  const isExclusiveFile = exclusive && path !== ':memory:'
  const stopFileCheck = isExclusiveFile && watchPages({ path, everyMs: checkEveryMs, onDamage: openFile.reportDamage })
  const notices = createNotices(log)
  const files =
    path === ':memory:'
      ? noBlobFiles
      : createBlobFiles({ directory: `${path}.blobs`, isNeeded: createFileReferenceCheck(fileSqlOf(db)), log })
  if (exclusive) files.sweep().catch(error => log.warn({ err: error }, 'stored files cannot be swept'))
  const isSoleWriter = exclusive === true || path === ':memory:'
  const store = assembleStore({
    db: createSqliteSql(db),
    openWriter: hooks => createWriter(db, hooks, createSqliteTransactions(db, { check: openFile.check, durability })),
    files,
    notices,
    now,
    log,
    channels,
    handledSecret,
    isSoleWriter,
    bytes,
    onDurable(batch) {
      for (const { topic, payload } of listNotices(batch, readWholeTask)) notices.notify(topic, payload)
      files.drop(batch.droppedFiles)
    },
    scrub: createWalTruncator(file),
    rewrite: createVacuum(file),
    async release() {
      db.close()
      durability?.close()
      if (stopFileCheck) await stopFileCheck()
      unlock()
    },
  })
  return completeStore(store, { now, isSoleWriter })
}

function decideHandledSecret(
  db: DatabaseSync,
  { path, isWritable }: { readonly path: string; readonly isWritable: boolean },
): string {
  try {
    return openHandledSecret(fileSqlOf(db), isWritable)
  } catch (error) {
    db.close()
    throw toOpenError(error, path)
  }
}

/** Counts the start of an exclusive gateway, and ends the leases of earlier processes. @throws ConfigError */
function prepareExclusive(db: DatabaseSync, path: string, now: number): void {
  try {
    if (path !== ':memory:') countStart(fileSqlOf(db), path)
    endAllLeases(fileSqlOf(db), now)
  } catch (error) {
    db.close()
    throw toOpenError(error, path)
  }
}
