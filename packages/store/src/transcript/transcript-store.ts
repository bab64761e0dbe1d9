// Assembles the transcript in the database of the store.
import type { OwnerQuota, TranscriptStore } from '@postern/transcript'
import type { Operation } from '../sql/operation.ts'
import type { Batch } from '../transaction/batch.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import { createTaskBytes } from '../transaction/task-totals.ts'
import type { ConversationBinding } from './bind-conversation.ts'
import { createConversationBinder } from './bind-conversation.ts'
import type { DiffDeps } from './conversation/diff.ts'
import { createDiffFinder } from './conversation/diff.ts'
import { createStoreEntries } from './conversation/entries.ts'
import { createTranscriptEntryTable } from './entry-table.ts'
import { createThreadReader } from './read-threads.ts'
import { createStoreBindings } from './store-bindings.ts'
import { createThreadLocks } from './threads/thread-locks.ts'
import { createThreadNamer } from './threads/thread-naming.ts'
import { aliasConflict, listWriteConflicts } from './threads/transcript-conflicts.ts'
import { createTranscriptThreadTable } from './threads/transcript-thread-table.ts'
import { createUsageTable } from './threads/usage-table.ts'
import { createThreadWriter } from './write-threads.ts'

/** A transcript whose threads can include conversations of the store. */
export interface StoreTranscript extends TranscriptStore, ConversationBinding {
  /** Reads the stored amounts of an owner. Each task of the store counts as an entry. */
  readUsage(owner: string): Promise<OwnerQuota>
  /** Checks the quota for data that is written elsewhere. @throws Rejection too_large */
  checkQuota(owner: string, amounts: OwnerQuota, quota: OwnerQuota): Promise<void>
  /** Deletes all threads of an owner with their names, including locked threads, and returns their number. */
  forgetOwner(owner: string): Promise<number>
}

/** Creates the transcript in the database of the store. A write is durable when its promise resolves. */
export function createSqliteTranscript(
  { db, channels, write, now, scrub }: StoreContext,
  tables: DiffDeps,
): StoreTranscript {
  const threads = createTranscriptThreadTable(db)
  const storeEntries = createStoreEntries({ db, channels }, createDiffFinder({ db, channels }, tables))
  const table = createTranscriptEntryTable(db, storeEntries)
  const bindings = createStoreBindings(db, storeEntries)
  const usage = createUsageTable(db)
  const threadWriter = createThreadWriter({ threads, table, bindings, usage })
  const taskBytes = createTaskBytes(db)
  /** Runs a write that is checked against a quota, after writing the totals of tasks of the same transaction. */
  const writeCounted = <T>(operation: (batch: Batch) => Operation<T>, conflictKeys: readonly string[]) =>
    write(
      function* (batch) {
        taskBytes.writeChanges(batch)
        return yield* operation(batch)
      },
      { conflictKeys: () => conflictKeys },
    )

  return {
    readUsage: owner => db.read(() => usage.read(owner)),
    checkQuota: (owner, amounts, quota) => db.read(() => usage.check(owner, amounts, quota)),
    async openThread(owner, alias, quota) {
      const threadId = await db.read(() => threads.findByAlias(owner, alias))
      if (threadId !== undefined) return { owner, thread_id: threadId }
      const conflictKeys = () => [aliasConflict(owner, alias)]
      return write(batch => threadWriter.open(batch, { owner, alias, quota }), { conflictKeys })
    },
    ...createThreadNamer(threads, { db, write }),
    ...createThreadReader({ db, write, threads, table, bindings, threadWriter }),
    append: (key, entries, request) =>
      writeCounted(
        batch => threadWriter.append(key, entries, { batch, request, now: now() }),
        listWriteConflicts(key, request),
      ),
    replace: (key, entries, request) =>
      writeCounted(
        batch => threadWriter.replace(key, entries, { batch, request, now: now() }),
        listWriteConflicts(key, request),
      ),
    forget: (key, request) => write(batch => threadWriter.forget(key, { batch, request, now: now() })),
    ...createConversationBinder({ db, write, threads, bindings, threadWriter }),
    async forgetOwner(owner) {
      const removedThreads = await write(() => threadWriter.forgetOwner(owner))
      scrub()
      return removedThreads
    },
    ...createThreadLocks(threads, { db, write, now }),
  }
}
