// Adds new entries of bound conversations to a transcript thread.
import type { ThreadKey } from '@postern/transcript'
import { threadConflict } from '../batching/conflict-keys.ts'
import type { Batch } from '../transaction/batch.ts'
import type { TranscriptTable } from './entry-table.ts'
import { insertNews } from './insert-entries.ts'
import type { StoreBindings } from './store-bindings.ts'
import type { ThreadExtent, TranscriptThread, TranscriptThreads } from './threads/thread-table.ts'

interface NewsDeps {
  readonly threads: TranscriptThreads
  readonly table: TranscriptTable
  readonly bindings: StoreBindings
}

/** Prepares the steps that add new entries of bound conversations to a thread. */
export function createNewsTaking({ threads, table, bindings }: NewsDeps) {
  function takeNews(batch: Batch, key: ThreadKey): TranscriptThread | undefined {
    const thread = threads.find(key)
    if (!thread) return undefined
    // Another write may delete notes of the conversation.
    for (const each of bindings.listBound(thread.id)) batch.reserve(threadConflict(each))
    let extent: ThreadExtent = thread
    for (const news of bindings.listNews(thread.id, key.thread_id)) {
      extent = insertNews(table, { ...extent, id: thread.id }, news)
      bindings.moveOn(thread.id, news)
    }
    threads.move(thread.id, extent)
    return { ...thread, ...extent }
  }

  function takeAllNews(batch: Batch, key: ThreadKey): TranscriptThread {
    while (threads.find(key) && bindings.hasNews(threads.require(key).id)) takeNews(batch, key)
    return threads.require(key)
  }

  return { takeNews, takeAllNews }
}
