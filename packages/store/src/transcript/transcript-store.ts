// Creates the transcript beside the store's own tables.
import type { OwnerQuota, TranscriptStore } from '@postern/transcript'
import type { Batch } from '../transaction/batch.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import { createTaskBytes } from '../transaction/task-totals.ts'
import type { ConversationBinding } from './bind-conversation.ts'
import { createConversationBinding } from './bind-conversation.ts'
import type { DiffDeps } from './conversation/diff.ts'
import { createDiffFinder } from './conversation/diff.ts'
import { createStoreEntries } from './conversation/entries.ts'
import { createTranscriptTable } from './entry-table.ts'
import { createThreadReading } from './read-threads.ts'
import { createStoreBindings } from './store-bindings.ts'
import { createThreadLocks } from './threads/thread-locks.ts'
import { createThreadNaming } from './threads/thread-naming.ts'
import { createTranscriptThreads } from './threads/thread-table.ts'
import { aliasConflict, listWritten } from './threads/transcript-conflicts.ts'
import { createUsageTable } from './threads/usage-table.ts'
import { createThreadWrites } from './write-threads.ts'

/** A transcript whose threads can include conversations of the store. */
export interface StoreTranscript extends TranscriptStore, ConversationBinding {
  /** Returns the stored amounts of an owner. Each task of the store counts as one entry. */
  readUsage(owner: string): Promise<OwnerQuota>
  /** Checks the quota for data that is written elsewhere. @throws Rejection too_large */
  checkQuota(owner: string, by: OwnerQuota, most: OwnerQuota): Promise<void>
  /** Deletes all threads of an owner with their names, also locked ones, and returns their number. */
  forgetOwner(owner: string): Promise<number>
}

/** Creates the transcript in the tables of the store's database. A write is durable when its promise resolves. */
export function createSqliteTranscript(
  { db, channels, write, now, scrub }: StoreContext,
  tables: DiffDeps,
): StoreTranscript {
  const threads = createTranscriptThreads(db)
  const said = createStoreEntries({ db, channels }, createDiffFinder({ db, channels }, tables))
  const table = createTranscriptTable(db, said)
  const bindings = createStoreBindings(db, said)
  const usage = createUsageTable(db)
  const writes = createThreadWrites({ db, threads, table, bindings, usage })
  const taskBytes = createTaskBytes(db)
  /** Runs a write that counts against a quota, after the totals of tasks in the same transaction. */
  const writeInto = <T>(operation: (batch: Batch) => T, conflictKeys: readonly string[]) =>
    write(
      batch => {
        taskBytes.book(batch)
        return operation(batch)
      },
      { conflictKeys: () => conflictKeys },
    )

  return {
    readUsage: async owner => usage.read(owner),
    checkQuota: async (owner, by, most) => usage.check(owner, by, most),
    async openThread(owner, alias, most) {
      const threadId = threads.findByAlias(owner, alias)
      return threadId === undefined
        ? write(batch => writes.open(batch, { owner, alias, most }), {
            conflictKeys: () => [aliasConflict(owner, alias)],
          })
        : { owner, thread_id: threadId }
    },
    ...createThreadNaming(threads, write),
    ...createThreadReading({ db, write, threads, table, bindings, writes }),
    append: (key, entries, request) =>
      writeInto(batch => writes.append(key, entries, { batch, request, now: now() }), listWritten(key, request)),
    replace: (key, entries, request) =>
      writeInto(batch => writes.replace(key, entries, { batch, request, now: now() }), listWritten(key, request)),
    forget: (key, request) => write(batch => writes.forget(key, { batch, request, now: now() })),
    ...createConversationBinding({ db, write, threads, bindings, writes }),
    async forgetOwner(owner) {
      const forgotten = await write(() => writes.forgetOwner(owner))
      scrub()
      return forgotten
    },
    ...createThreadLocks(threads, { write, now }),
  }
}
