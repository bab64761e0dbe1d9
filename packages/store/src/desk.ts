import type { ByteStore, Log, NoticeDesk } from '@postern/core'
import type { StoreDesk } from './assemble.ts'
import { assembleDesk } from './assemble.ts'
import type { Batch } from './batch.ts'
import { createBlobFiles, noBlobFiles } from './blob-files.ts'
import { createFileNeed } from './blobs.ts'
import { takeExclusiveLock } from './lock.ts'
import { createNotices } from './notices.ts'
import { createRewrite, createScrub, openDatabase, stopWaiting } from './sqlite.ts'
import { createSqliteTransactions } from './transactions.ts'
import { endAllLeases } from './work.ts'

export interface SqliteDeskOptions {
  /** A file, made readable by its owner alone when there is none yet; or `:memory:`. */
  readonly path: string
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly log: Log
  /** Nobody else may have this desk open with `exclusive`; whatever an earlier process held is due at once. */
  readonly exclusive?: boolean | undefined
  /** Where the bytes of objects go instead of the file. */
  readonly bytes?: ByteStore | undefined
}

/**
 * The desk on SQLite. What it acknowledges is on disk: WAL with `synchronous=FULL`, many writes behind one fsync.
 * @throws ConfigError `data` when the file is not ours to use
 */
export async function openSqliteDesk(options: SqliteDeskOptions): Promise<StoreDesk> {
  const unlock = options.exclusive && options.path !== ':memory:' ? takeExclusiveLock(options.path) : () => {}
  try {
    return openUnlocked(options, unlock)
  } catch (error) {
    unlock()
    throw error
  }
}

function openUnlocked({ path, now, log, exclusive, bytes }: SqliteDeskOptions, unlock: () => void): StoreDesk {
  const db = openDatabase(path)
  if (exclusive) endAllLeases(db, now())
  stopWaiting(db)
  const notices = createNotices(log)
  const files =
    path === ':memory:'
      ? noBlobFiles
      : createBlobFiles({ directory: `${path}.blobs`, isNeeded: createFileNeed(db), log })
  if (exclusive) files.sweep().catch(error => log.warn({ err: error }, 'stored files cannot be swept'))
  return assembleDesk({
    db,
    transactions: createSqliteTransactions(db),
    files,
    notices,
    now,
    log,
    bytes,
    onDurable(batch) {
      giveNotices(batch, notices)
      files.drop(batch.droppedFiles)
    },
    scrub: createScrub(db),
    rewrite: createRewrite(db),
    release: unlock,
  })
}

/** However much work one batch made ready, it is announced once. */
function giveNotices({ notices, hasReadyWork }: Batch, { notify }: NoticeDesk): void {
  for (const { topic, payload } of notices) notify(topic, payload)
  if (hasReadyWork) notify('work', undefined)
}
