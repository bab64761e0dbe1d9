import type { ByteStore, Desk, Log, NoticeDesk, ObjectStore } from '@postern/core'
import type { Batch } from './batch.ts'
import { createBlobFiles, noBlobFiles } from './blob-files.ts'
import { createFileNeed } from './blobs.ts'
import { createDemandDesk } from './demand-desk.ts'
import { createAdmission } from './intake.ts'
import { takeExclusiveLock } from './lock.ts'
import { createLookupDesk } from './lookup.ts'
import { createNotices } from './notices.ts'
import { createObjectStore } from './objects.ts'
import { createOnceDesk } from './once.ts'
import { createOperatorDesk } from './operator.ts'
import type { OwnerForgetting } from './owner-forgetting.ts'
import { createOwnerForgetting } from './owner-forgetting.ts'
import { createPeopleDesk } from './people.ts'
import { createRefusals } from './refusals.ts'
import { createRelationDesk } from './relations.ts'
import { openDatabase } from './sqlite.ts'
import type { Store } from './store.ts'
import { createTables } from './tables.ts'
import { createTaskDesk } from './tasks.ts'
import type { DeskTranscript } from './transcript/open-transcript.ts'
import { createSqliteTranscript } from './transcript/open-transcript.ts'
import type { OwnedShelf } from './transcript/record-shelf.ts'
import { createRecordShelf } from './transcript/record-shelf.ts'
import { createWithdrawalDesk } from './withdrawals.ts'
import { createWorkDesk, endAllLeases } from './work.ts'
import { createWriter } from './writer.ts'

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

/** The desk, and the conversations as dialects read and write them, in one file. */
export interface SqliteDesk extends Desk, OwnerForgetting {
  readonly transcript: DeskTranscript
  readonly objects: ObjectStore
  readonly shelf: OwnedShelf
}

/**
 * The desk on SQLite. What it acknowledges is on disk: WAL with `synchronous=FULL`, many writes behind one fsync.
 * @throws ConfigError `data` when the file is not ours to use
 */
export async function openSqliteDesk(options: SqliteDeskOptions): Promise<SqliteDesk> {
  const unlock = options.exclusive && options.path !== ':memory:' ? takeExclusiveLock(options.path) : () => {}
  try {
    return openUnlocked(options, unlock)
  } catch (error) {
    unlock()
    throw error
  }
}

function openUnlocked({ path, now, log, exclusive, bytes }: SqliteDeskOptions, unlock: () => void): SqliteDesk {
  const db = openDatabase(path)
  if (exclusive) endAllLeases(db, now())
  const notices = createNotices(log)
  const files =
    path === ':memory:'
      ? noBlobFiles
      : createBlobFiles({ directory: `${path}.blobs`, isNeeded: createFileNeed(db), log })
  if (exclusive) files.sweep().catch(error => log.warn({ err: error }, 'stored files cannot be swept'))
  const writer = createWriter(db, batch => {
    giveNotices(batch, notices)
    files.drop(batch.droppedFiles)
  })
  const { write, writeLightly, writeLast } = writer
  const store: Store = { db, write, writeLightly, writeLast, now, log, files }
  const tables = createTables(db, files)
  const refusals = createRefusals(store)
  const { admitNew, ...admission } = createAdmission(store, tables)
  const closeAll = async () => {
    const flushed = refusals.flush()
    writer.close()
    await flushed
    db.close()
    unlock()
  }
  let closed: Promise<void> | undefined
  return {
    ...admission,
    ...createDemandDesk(store, tables, admitNew),
    refuse: refusals.refuse,
    ...createWorkDesk(store, tables),
    ...createLookupDesk(store, tables),
    ...createTaskDesk(store, tables),
    ...createOnceDesk(store),
    ...createRelationDesk(store),
    ...createPeopleDesk(store, tables),
    ...createOwnerForgetting(store, tables),
    ...createWithdrawalDesk(store, tables),
    ...createOperatorDesk(store, tables, refusals),
    ...notices,
    transcript: createSqliteTranscript(store),
    objects: createObjectStore(store, bytes),
    shelf: createRecordShelf(store),
    close() {
      closed ??= closeAll()
      return closed
    },
  }
}

/** However much work one batch made ready, it is announced once. */
function giveNotices({ notices, hasReadyWork }: Batch, { notify }: NoticeDesk): void {
  for (const { topic, payload } of notices) notify(topic, payload)
  if (hasReadyWork) notify('work', undefined)
}
