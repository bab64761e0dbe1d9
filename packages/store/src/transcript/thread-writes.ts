import { randomBytes } from 'node:crypto'
import type { EntryBody, OwnerQuota, ThreadAlias, ThreadKey, TranscriptEntry, WriteRequest } from '@postern/transcript'
import { splitMessages } from '@postern/transcript'
import type { Batch } from '../engine/database.ts'
import { touchedThread } from '../together/touched.ts'
import type { TranscriptTable } from './entry-table.ts'
import { appendMessages, firstOfEachId, placeEntries, placeNews } from './place-entries.ts'
import type { StoreBindings } from './store/binding.ts'
import type { ThreadExtent, TranscriptThread, TranscriptThreads, UsageTable } from './thread-table.ts'

/** What writes to threads, and books how much their owner has then; `most`: what they may have. Synchronous: each inside a write. */
export interface ThreadWrites {
  open(owner: string, alias: ThreadAlias, most?: OwnerQuota): ThreadKey
  /** What was said at the store since somebody last looked gets its places: the first of it, when it is much. */
  takeNews(batch: Batch, key: ThreadKey): TranscriptThread | undefined
  append(key: ThreadKey, entries: readonly EntryBody[], how: WriteHow): readonly TranscriptEntry[]
  replace(key: ThreadKey, entries: readonly EntryBody[], how: WriteHow): readonly TranscriptEntry[]
  bind(key: ThreadKey, connectionWorker: number, reader: string | undefined): void
  forget(key: ThreadKey, how: WriteHow): void
  /** @returns how many threads there were */
  forgetOwner(owner: string): number
}

interface WriteHow {
  readonly batch: Batch
  readonly request: WriteRequest | undefined
  readonly now: number
}

interface WriteDeps {
  readonly threads: TranscriptThreads
  readonly table: TranscriptTable
  readonly bindings: StoreBindings
  readonly usage: UsageTable
}

const empty: ThreadExtent = { last_seq: 0, last_chat_seq: 0, entries: 0, bytes: 0 }

export function createThreadWrites({ threads, table, bindings, usage }: WriteDeps): ThreadWrites {
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
    open(owner, alias, most) {
      const known = threads.findByAlias(owner, alias)
      if (known !== undefined) return { owner, thread_id: known }
      const key = { owner, thread_id: randomBytes(16).toString('hex') }
      usage.add(owner, { threads: 1, entries: 0, bytes: 0 }, most)
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
      const { asked, extent } = placeEntries(table, { ...empty, id: thread.id }, firstOfEachId(entries))
      for (const entry of asked) table.addNames(thread.id, entry, true)
      settle(key.owner, thread, extent, request?.most)
      return asked
    },
    // For other eyes than before it is told anew, from the beginning.
    bind(key, connectionWorker, reader) {
      const thread = threads.require(key)
      if (bindings.bind(thread.id, connectionWorker, reader)) return
      table.clear(thread.id)
      bindings.remove(thread.id)
      settle(key.owner, thread, empty)
      bindings.bind(thread.id, connectionWorker, reader)
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

/** Gives what was said at the store its places in a thread. */
function createNewsTaking({ threads, table, bindings }: Omit<WriteDeps, 'usage'>) {
  function takeNews(batch: Batch, key: ThreadKey): TranscriptThread | undefined {
    const thread = threads.find(key)
    if (!thread) return undefined
    // Notes may be taken out there.
    for (const each of bindings.listBound(thread.id)) batch.reserve(touchedThread(each))
    let extent: ThreadExtent = thread
    for (const news of bindings.listNews(thread.id, key.thread_id)) {
      extent = placeNews(table, { ...extent, id: thread.id }, news)
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
