import type { DatabaseSync } from 'node:sqlite'
import type { ByteStore, Log } from '@postern/core'
import type { GatewayStore } from '../assemble.ts'
import { assembleStore } from '../assemble.ts'
import { createFileNeed } from '../blobs/table.ts'
import type { StoredChannel } from '../channels/facts.ts'
import { createBlobFiles, noBlobFiles } from '../engine/blob-files.ts'
import { createNotices, listNotices, sqlOf, tellWholeTask } from '../engine/database.ts'
import { createSqliteTransactions } from '../engine/transactions.ts'
import type { SyncFile } from '../engine/writer.ts'
import { createWriter, openLogSync, syncBeside } from '../engine/writer.ts'
import { endAllLeases } from '../work/store.ts'
import { watchPages } from './file-check.ts'
import { noOpenFile, watchOpenFile } from './file-watch.ts'
import { guardDatabase } from './guarded-database.ts'
import { toOpenError } from './inspect-file.ts'
import { takeExclusiveLock } from './lock.ts'
import { countStart } from './marker.ts'
import { createRewrite, createScrub, openDatabase, readSize, stopWaiting } from './open.ts'

interface SqliteStoreOptions {
  /** A file, made readable by its owner alone when there is none yet; or `:memory:`. */
  readonly path: string
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly log: Log
  /** All channels whose messages are stored. */
  readonly channels: readonly StoredChannel[]
  /** Nobody else may have this store open with `exclusive`; whatever an earlier process held is due at once. */
  readonly exclusive?: boolean | undefined
  /** How often the whole file is read for damage, ms; default: a minute. Only where the store is exclusive. */
  readonly checkEveryMs?: number | undefined
  /** Waits until the disk has all that was written to an open file; default: `fdatasync`. */
  readonly syncLog?: SyncFile | undefined
  /** Where the bytes of objects go instead of the file. */
  readonly bytes?: ByteStore | undefined
}

/**
 * The store on SQLite. What it acknowledges is on disk: many writes behind one sync of the write-ahead log, beside the event loop.
 * @throws ConfigError `data` when the file is not ours to use
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<GatewayStore> {
  const unlock = options.exclusive && options.path !== ':memory:' ? takeExclusiveLock(options.path) : () => {}
  try {
    return openUnlocked(options, unlock)
  } catch (error) {
    unlock()
    throw error
  }
}

function openUnlocked(
  { path, now, log, channels, exclusive, bytes, syncLog, checkEveryMs = 60_000 }: SqliteStoreOptions,
  unlock: () => void,
): GatewayStore {
  const file = openDatabase(path)
  if (exclusive) takeUp(file, path, now())
  stopWaiting(file)
  const watched = path === ':memory:' ? noOpenFile : watchOpenFile({ path, readSize: () => readSize(file), log })
  const db = guardDatabase(file, watched.reportDamage)
  const durability =
    path === ':memory:' ? undefined : syncBeside(file, openLogSync(path, syncLog), watched.reportDamage)
  const isKept = exclusive && path !== ':memory:'
  const endWatch = isKept && watchPages({ path, everyMs: checkEveryMs, onDamage: watched.reportDamage })
  const notices = createNotices(log)
  const files =
    path === ':memory:'
      ? noBlobFiles
      : createBlobFiles({ directory: `${path}.blobs`, isNeeded: createFileNeed(sqlOf(db)), log })
  if (exclusive) files.sweep().catch(error => log.warn({ err: error }, 'stored files cannot be swept'))
  return assembleStore({
    db,
    openWriter: hooks => createWriter(db, hooks, createSqliteTransactions(db, { check: watched.check, durability })),
    files,
    notices,
    now,
    log,
    channels,
    isAlone: exclusive === true || path === ':memory:',
    bytes,
    onDurable(batch) {
      for (const { topic, payload } of listNotices(batch, tellWholeTask)) notices.notify(topic, payload)
      files.drop(batch.droppedFiles)
    },
    scrub: createScrub(file),
    rewrite: createRewrite(file),
    async release() {
      db.close()
      durability?.close()
      if (endWatch) await endWatch()
      unlock()
    },
  })
}

/** What only a gateway does, which has the file for itself. @throws ConfigError */
function takeUp(db: DatabaseSync, path: string, now: number): void {
  try {
    if (path !== ':memory:') countStart(sqlOf(db), path)
    endAllLeases(sqlOf(db), now)
  } catch (error) {
    db.close()
    throw toOpenError(error, path)
  }
}
