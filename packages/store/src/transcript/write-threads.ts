// Writes to transcript threads within the quota of their owner.
import { randomBytes } from 'node:crypto'
import type { EntryBody, OwnerQuota, ThreadAlias, ThreadKey, TranscriptEntry, WriteRequest } from '@postern/transcript'
import { splitMessages } from '@postern/transcript'
import type { Operation } from '../sql/operation.ts'
import { runTogether } from '../sql/operation.ts'
import type { Batch } from '../transaction/batch.ts'
import { createNewEntriesAppender } from './append-new-entries.ts'
import type { TranscriptEntryTable } from './entry-table.ts'
import { appendMessages, dropRepeatedIds, insertEntries } from './insert-entries.ts'
import type { StoreBindings } from './store-bindings.ts'
import type { ThreadExtent, TranscriptThread, TranscriptThreadTable } from './threads/transcript-thread-table.ts'
import type { UsageTable } from './threads/usage-table.ts'

/** Writes to threads, and updates the totals of their owner within the quota. The members are operations of a write. */
export interface ThreadWriter {
  open(batch: Batch, thread: NewThread): Operation<ThreadKey>
  /** Inserts an empty thread whose alias no other thread has. */
  create(owner: string, alias: ThreadAlias): Operation<CreatedThread>
  /** Adds as many new entries of bound conversations to a thread as fit into one transaction. */
  appendNewEntries(batch: Batch, key: ThreadKey): Operation<TranscriptThread | undefined>
  append(key: ThreadKey, entries: readonly EntryBody[], options: WriteOptions): Operation<readonly TranscriptEntry[]>
  replace(key: ThreadKey, entries: readonly EntryBody[], options: WriteOptions): Operation<readonly TranscriptEntry[]>
  /** Binds a conversation to the thread. If the readers have changed, the thread is written again from its beginning. */
  bind(key: ThreadKey, thread: TranscriptThread, storeThread: number, reader: string | undefined): Operation<void>
  forget(key: ThreadKey, options: WriteOptions): Operation<void>
  /** Deletes all threads of an owner and returns their number. */
  forgetOwner(owner: string): Operation<number>
}

interface NewThread {
  readonly owner: string
  readonly alias: ThreadAlias
  readonly quota: OwnerQuota | undefined
}

interface CreatedThread {
  readonly key: ThreadKey
  readonly id: number
}

interface WriteOptions {
  readonly batch: Batch
  readonly request: WriteRequest | undefined
  readonly now: number
}

interface WriteDeps {
  readonly threads: TranscriptThreadTable
  readonly table: TranscriptEntryTable
  readonly bindings: StoreBindings
  readonly usage: UsageTable
}

const emptyExtent: ThreadExtent = { last_seq: 0, last_chat_seq: 0, entries: 0, bytes: 0 }

export function createThreadWriter(deps: WriteDeps): ThreadWriter {
  const { threads, table, bindings, usage } = deps
  const { appendNewEntries, appendAllNewEntries } = createNewEntriesAppender(deps)

  function* updateUsage(
    owner: string,
    thread: TranscriptThread,
    extent: ThreadExtent,
    quota?: OwnerQuota,
  ): Operation<void> {
    threads.updateExtent(thread.id, extent)
    const [entries, bytes] = [extent.entries - thread.entries, extent.bytes - thread.bytes]
    yield* usage.add(owner, { threads: 0, entries, bytes }, quota)
  }

  const create = createThreadCreation(deps)

  return {
    create,
    *open(batch, { owner, alias, quota }) {
      const [id, totals] = yield* runTogether([
        () => threads.findByAlias(owner, alias),
        function* () {
          return quota && (yield* usage.read(owner))
        },
      ])
      if (id !== undefined) return { owner, thread_id: id }
      if (quota && totals) usage.requireThread(batch, owner, { quota: quota.threads, used: totals.threads })
      return (yield* create(owner, alias)).key
    },
    appendNewEntries,
    *append(key, entries, { batch, request, now }) {
      yield* threads.requireWriter(key, request, now)
      const thread = yield* appendAllNewEntries(batch, key)
      const { requestedEntries, extent } = yield* appendMessages(table, thread, splitMessages(entries))
      yield* updateUsage(key.owner, thread, extent, request?.quota)
      return requestedEntries
    },
    *replace(key, entries, { request, now }) {
      const thread = yield* threads.requireWriter(key, request, now)
      table.clear(thread.id)
      const emptyThread = { ...emptyExtent, id: thread.id }
      const { requestedEntries, extent } = yield* insertEntries(table, emptyThread, dropRepeatedIds(entries))
      for (const entry of requestedEntries) table.addNames(thread.id, entry, { keepsExisting: true })
      yield* updateUsage(key.owner, thread, extent, request?.quota)
      return requestedEntries
    },
    *bind(key, thread, storeThread, reader) {
      if (yield* bindings.bind(thread.id, storeThread, reader)) return
      table.clear(thread.id)
      bindings.remove(thread.id)
      yield* updateUsage(key.owner, thread, emptyExtent)
      yield* bindings.bind(thread.id, storeThread, reader)
    },
    ...createThreadRemoval(deps),
  }
}

function createThreadCreation({ threads, usage }: WriteDeps): ThreadWriter['create'] {
  return function* (owner, alias) {
    const key = { owner, thread_id: randomBytes(16).toString('hex') }
    yield* usage.add(owner, { threads: 1, entries: 0, bytes: 0 })
    const id = yield* threads.create(key)
    threads.addAlias(owner, alias, id)
    return { key, id }
  }
}

/** Creates the members that delete threads and subtract them from the totals of their owner. */
function createThreadRemoval({
  threads,
  table,
  bindings,
  usage,
}: WriteDeps): Pick<ThreadWriter, 'forget' | 'forgetOwner'> {
  function* removeThread(
    owner: string,
    { id, entries, bytes }: ThreadExtent & { readonly id: number },
  ): Operation<void> {
    table.clear(id)
    bindings.remove(id)
    threads.remove(id)
    yield* usage.add(owner, { threads: -1, entries: -entries, bytes: -bytes })
  }

  return {
    *forget(key, { request, now }) {
      if (yield* threads.find(key)) yield* removeThread(key.owner, yield* threads.requireWriter(key, request, now))
    },
    *forgetOwner(owner) {
      const threadsOfOwner = yield* threads.listByOwner(owner)
      for (const thread of threadsOfOwner) yield* removeThread(owner, thread)
      return threadsOfOwner.length
    },
  }
}
