// Writes to transcript threads within their quota.
import { randomBytes } from 'node:crypto'
import type { EntryBody, OwnerQuota, ThreadAlias, ThreadKey, TranscriptEntry, WriteRequest } from '@postern/transcript'
import { splitMessages } from '@postern/transcript'
import { readBatch } from '../sql/engine-defaults.ts'
import type { Batch } from '../transaction/batch.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { TranscriptTable } from './entry-table.ts'
import { appendMessages, firstOfEachId, insertEntries } from './insert-entries.ts'
import type { StoreBindings } from './store-bindings.ts'
import { createNewsTaking } from './take-news.ts'
import type { ThreadExtent, TranscriptThread, TranscriptThreads } from './threads/thread-table.ts'
import type { UsageTable } from './threads/usage-table.ts'

/** Writes to threads and counts what their owner stores, up to `most`. The members run synchronously, inside a write. */
export interface ThreadWrites {
  open(batch: Batch, thread: NewThread): ThreadKey
  /** Adds new entries of bound conversations to a thread, as many as fit into one transaction. */
  takeNews(batch: Batch, key: ThreadKey): TranscriptThread | undefined
  append(key: ThreadKey, entries: readonly EntryBody[], how: WriteHow): readonly TranscriptEntry[]
  replace(key: ThreadKey, entries: readonly EntryBody[], how: WriteHow): readonly TranscriptEntry[]
  bind(key: ThreadKey, thread: TranscriptThread, storeThread: number, reader: string | undefined): void
  forget(key: ThreadKey, how: WriteHow): void
  /** Deletes all threads of an owner and returns their number. */
  forgetOwner(owner: string): number
}

interface NewThread {
  readonly owner: string
  readonly alias: ThreadAlias
  readonly most: OwnerQuota | undefined
}

interface WriteHow {
  readonly batch: Batch
  readonly request: WriteRequest | undefined
  readonly now: number
}

interface WriteDeps extends Pick<StoreContext, 'db'> {
  readonly threads: TranscriptThreads
  readonly table: TranscriptTable
  readonly bindings: StoreBindings
  readonly usage: UsageTable
}

const empty: ThreadExtent = { last_seq: 0, last_chat_seq: 0, entries: 0, bytes: 0 }

export function createThreadWrites({ db, threads, table, bindings, usage }: WriteDeps): ThreadWrites {
  const { takeNews, takeAllNews } = createNewsTaking({ threads, table, bindings })

  function settle(owner: string, before: TranscriptThread, extent: ThreadExtent, most?: OwnerQuota): void {
    threads.move(before.id, extent)
    usage.add(owner, { threads: 0, entries: extent.entries - before.entries, bytes: extent.bytes - before.bytes }, most)
  }

  function drop(owner: string, { id, entries, bytes }: ThreadExtent & { readonly id: number }): void {
    table.clear(id)
    bindings.remove(id)
    threads.remove(id)
    usage.add(owner, { threads: -1, entries: -entries, bytes: -bytes })
  }

  return {
    open(batch, { owner, alias, most }) {
      const [id, used] = readBatch(db, [() => threads.findByAlias(owner, alias), () => most && usage.read(owner)])
      if (id !== undefined) return { owner, thread_id: id }
      if (most && used) usage.requireThread(batch, owner, { most: most.threads, used: used.threads })
      const key = { owner, thread_id: randomBytes(16).toString('hex') }
      usage.add(owner, { threads: 1, entries: 0, bytes: 0 })
      threads.addAlias(owner, alias, threads.create(key))
      return key
    },
    takeNews,
    append(key, entries, { batch, request, now }) {
      threads.requireWriter(key, request, now)
      const thread = takeAllNews(batch, key)
      const { asked, extent } = appendMessages(table, thread, splitMessages(entries))
      settle(key.owner, thread, extent, request?.most)
      return asked
    },
    replace(key, entries, { request, now }) {
      const thread = threads.requireWriter(key, request, now)
      table.clear(thread.id)
      const { asked, extent } = insertEntries(table, { ...empty, id: thread.id }, firstOfEachId(entries))
      for (const entry of asked) table.addNames(thread.id, entry, true)
      settle(key.owner, thread, extent, request?.most)
      return asked
    },
    // A thread for other readers than before is written again from its beginning.
    bind(key, thread, storeThread, reader) {
      if (bindings.bind(thread.id, storeThread, reader)) return
      table.clear(thread.id)
      bindings.remove(thread.id)
      settle(key.owner, thread, empty)
      bindings.bind(thread.id, storeThread, reader)
    },
    forget(key, { request, now }) {
      if (threads.find(key)) drop(key.owner, threads.requireWriter(key, request, now))
    },
    forgetOwner(owner) {
      const all = threads.listOf(owner)
      for (const thread of all) drop(owner, thread)
      return all.length
    },
  }
}
