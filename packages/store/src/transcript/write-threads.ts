// Writes to transcript threads within the quota of their owner.
import { randomBytes } from 'node:crypto'
import type { EntryBody, OwnerQuota, ThreadAlias, ThreadKey, TranscriptEntry, WriteRequest } from '@postern/transcript'
import { splitMessages } from '@postern/transcript'
import { readBatch } from '../sql/engine-defaults.ts'
import type { Batch } from '../transaction/batch.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import { createNewEntriesAppender } from './append-new-entries.ts'
import type { TranscriptEntryTable } from './entry-table.ts'
import { appendMessages, dropRepeatedIds, insertEntries } from './insert-entries.ts'
import type { StoreBindings } from './store-bindings.ts'
import type { ThreadExtent, TranscriptThread, TranscriptThreadTable } from './threads/transcript-thread-table.ts'
import type { UsageTable } from './threads/usage-table.ts'

/** Writes to threads, and updates the totals of their owner within the quota. The members run synchronously inside a write. */
export interface ThreadWriter {
  open(batch: Batch, thread: NewThread): ThreadKey
  /** Adds as many new entries of bound conversations to a thread as fit into one transaction. */
  appendNewEntries(batch: Batch, key: ThreadKey): TranscriptThread | undefined
  append(key: ThreadKey, entries: readonly EntryBody[], options: WriteOptions): readonly TranscriptEntry[]
  replace(key: ThreadKey, entries: readonly EntryBody[], options: WriteOptions): readonly TranscriptEntry[]
  /** Binds a conversation to the thread. If the readers have changed, the thread is written again from its beginning. */
  bind(key: ThreadKey, thread: TranscriptThread, storeThread: number, reader: string | undefined): void
  forget(key: ThreadKey, options: WriteOptions): void
  /** Deletes all threads of an owner and returns their number. */
  forgetOwner(owner: string): number
}

interface NewThread {
  readonly owner: string
  readonly alias: ThreadAlias
  readonly quota: OwnerQuota | undefined
}

interface WriteOptions {
  readonly batch: Batch
  readonly request: WriteRequest | undefined
  readonly now: number
}

interface WriteDeps extends Pick<StoreContext, 'db'> {
  readonly threads: TranscriptThreadTable
  readonly table: TranscriptEntryTable
  readonly bindings: StoreBindings
  readonly usage: UsageTable
}

const emptyExtent: ThreadExtent = { last_seq: 0, last_chat_seq: 0, entries: 0, bytes: 0 }

export function createThreadWriter({ db, threads, table, bindings, usage }: WriteDeps): ThreadWriter {
  const { appendNewEntries, appendAllNewEntries } = createNewEntriesAppender({ threads, table, bindings })

  function updateUsage(owner: string, thread: TranscriptThread, extent: ThreadExtent, quota?: OwnerQuota): void {
    threads.updateExtent(thread.id, extent)
    const [entries, bytes] = [extent.entries - thread.entries, extent.bytes - thread.bytes]
    usage.add(owner, { threads: 0, entries, bytes }, quota)
  }

  function removeThread(owner: string, { id, entries, bytes }: ThreadExtent & { readonly id: number }): void {
    table.clear(id)
    bindings.remove(id)
    threads.remove(id)
    usage.add(owner, { threads: -1, entries: -entries, bytes: -bytes })
  }

  return {
    open(batch, { owner, alias, quota }) {
      const [id, totals] = readBatch(db, [() => threads.findByAlias(owner, alias), () => quota && usage.read(owner)])
      if (id !== undefined) return { owner, thread_id: id }
      if (quota && totals) usage.requireThread(batch, owner, { quota: quota.threads, used: totals.threads })
      const key = { owner, thread_id: randomBytes(16).toString('hex') }
      usage.add(owner, { threads: 1, entries: 0, bytes: 0 })
      threads.addAlias(owner, alias, threads.create(key))
      return key
    },
    appendNewEntries,
    append(key, entries, { batch, request, now }) {
      threads.requireWriter(key, request, now)
      const thread = appendAllNewEntries(batch, key)
      const { requestedEntries, extent } = appendMessages(table, thread, splitMessages(entries))
      updateUsage(key.owner, thread, extent, request?.quota)
      return requestedEntries
    },
    replace(key, entries, { request, now }) {
      const thread = threads.requireWriter(key, request, now)
      table.clear(thread.id)
      const emptyThread = { ...emptyExtent, id: thread.id }
      const { requestedEntries, extent } = insertEntries(table, emptyThread, dropRepeatedIds(entries))
      for (const entry of requestedEntries) table.addNames(thread.id, entry, { keepsExisting: true })
      updateUsage(key.owner, thread, extent, request?.quota)
      return requestedEntries
    },
    bind(key, thread, storeThread, reader) {
      if (bindings.bind(thread.id, storeThread, reader)) return
      table.clear(thread.id)
      bindings.remove(thread.id)
      updateUsage(key.owner, thread, emptyExtent)
      bindings.bind(thread.id, storeThread, reader)
    },
    forget(key, { request, now }) {
      if (threads.find(key)) removeThread(key.owner, threads.requireWriter(key, request, now))
    },
    forgetOwner(owner) {
      const threadsOfOwner = threads.listByOwner(owner)
      for (const thread of threadsOfOwner) removeThread(owner, thread)
      return threadsOfOwner.length
    },
  }
}
