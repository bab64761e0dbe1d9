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
import { sqlOf } from '../sql/sql.ts'
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
  createWalTruncation,
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
  /** True if no other process may have this store open with `exclusive`. Work that an earlier process held is then due at once. */
  readonly exclusive?: boolean | undefined
  /** The time between two checks of the whole file for damage, ms; default: a minute. Only an exclusive store checks. */
  readonly checkEveryMs?: number | undefined
  /** Waits until the disk has everything that was written to an open file; default: `fdatasync`. */
  readonly syncLog?: SyncFile | undefined
  /** The storage of the bytes of objects, if they do not go into the file. */
  readonly bytes?: ByteStore | undefined
  /** False if a file of an earlier release is refused and stays unchanged, and no file is created. By default it is migrated to the newest tables. */
  readonly changesTables?: boolean | undefined
}

/**
 * Opens the store on SQLite. Acknowledged data are on disk: many writes share one sync of the write-ahead log, beside the event loop.
 * @throws ConfigError `data` if the file is not ours to use
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<GatewayStore> {
  if (options.changesTables === false && options.path !== ':memory:') requireDatabaseFile(options.path)
  const unlock = options.exclusive && options.path !== ':memory:' ? acquireExclusiveLock(options.path) : () => {}
  try {
    return openUnlocked(options, unlock)
  } catch (error) {
    unlock()
    throw error
  }
}

function openUnlocked(
  { path, now, log, channels, exclusive, bytes, changesTables, syncLog, checkEveryMs = 60_000 }: SqliteStoreOptions,
  unlock: () => void,
): GatewayStore {
  const file = openDatabase(path, { changesTables })
  const handledSecret = decideHandledSecret(file, { path, isWritable: changesTables !== false })
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
      : createBlobFiles({ directory: `${path}.blobs`, isNeeded: createFileReferenceCheck(sqlOf(db)), log })
  if (exclusive) files.sweep().catch(error => log.warn({ err: error }, 'stored files cannot be swept'))
  const isSoleWriter = exclusive === true || path === ':memory:'
  const store = assembleStore({
    db,
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
    scrub: createWalTruncation(file),
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
    return openHandledSecret(sqlOf(db), isWritable)
  } catch (error) {
    db.close()
    throw toOpenError(error, path)
  }
}

/** Prepares the file of an exclusive gateway: counts the start and ends old leases. @throws ConfigError */
function prepareExclusive(db: DatabaseSync, path: string, now: number): void {
  try {
    if (path !== ':memory:') countStart(sqlOf(db), path)
    endAllLeases(sqlOf(db), now)
  } catch (error) {
    db.close()
    throw toOpenError(error, path)
  }
}
