// Adds new entries of bound conversations to a transcript thread.
import type { ThreadKey } from '@postern/transcript'
import type { Operation } from '../sql/operation.ts'
import type { Batch } from '../transaction/batch.ts'
import { threadConflict } from '../transaction/conflict-keys.ts'
import type { TranscriptEntryTable } from './entry-table.ts'
import { insertNewEntries } from './insert-entries.ts'
import type { StoreBindings } from './store-bindings.ts'
import type { ThreadExtent, TranscriptThread, TranscriptThreadTable } from './threads/transcript-thread-table.ts'

interface NewEntriesDeps {
  readonly threads: TranscriptThreadTable
  readonly table: TranscriptEntryTable
  readonly bindings: StoreBindings
}

/** Creates the functions that add new entries of bound conversations to a thread. */
export function createNewEntriesAppender({ threads, table, bindings }: NewEntriesDeps) {
  function* appendNewEntries(batch: Batch, key: ThreadKey): Operation<TranscriptThread | undefined> {
    const thread = yield* threads.find(key)
    if (!thread) return undefined
    // Another write may delete notes of the conversation at the same time.
    for (const storeThread of yield* bindings.listBound(thread.id)) yield* batch.reserve(threadConflict(storeThread))
    let extent: ThreadExtent = thread
    for (const newEntries of yield* bindings.listNewEntries(thread.id, key.thread_id)) {
      extent = yield* insertNewEntries(table, { ...extent, id: thread.id }, newEntries)
      bindings.advance(thread.id, newEntries)
    }
    threads.updateExtent(thread.id, extent)
    return { ...thread, ...extent }
  }

  function* appendAllNewEntries(batch: Batch, key: ThreadKey): Operation<TranscriptThread> {
    while ((yield* threads.find(key)) && (yield* bindings.hasNewEntries((yield* threads.require(key)).id)))
      yield* appendNewEntries(batch, key)
    return yield* threads.require(key)
  }

  return { appendNewEntries, appendAllNewEntries }
}
