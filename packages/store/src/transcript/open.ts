import { randomBytes } from 'node:crypto'
import { Rejection } from '@postern/core'
import type {
  EntryBody,
  OwnerQuota,
  ThreadAlias,
  ThreadKey,
  TranscriptEntry,
  TranscriptStore,
  WriteRequest,
} from '@postern/transcript'
import { nameEntry, splitMessages } from '@postern/transcript'
import type { Batch } from '../engine/database.ts'
import { readAfterWait, readTogether } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import { createTaskBytes } from '../engine/task-bytes.ts'
import { touchedThread } from '../together/touched.ts'
import type { TranscriptTable } from './entry-table.ts'
import { createTranscriptTable } from './entry-table.ts'
import { appendMessages, firstOfEachId, placeEntries, placeNews } from './place-entries.ts'
import { createRangeReader } from './range-query.ts'
import type { DiffDeps } from './store/diff.ts'
import { createDiffFinder } from './store/diff.ts'
import { createStoreEntries } from './store/entries.ts'
import type {
  StoreBindings,
  StoreThreadName,
  ThreadExtent,
  TranscriptThread,
  TranscriptThreads,
  UsageTable,
} from './thread-table.ts'
import { createStoreBindings, createTranscriptThreads, createUsageTable, holderOf } from './thread-table.ts'

/** A transcript that the conversations of the store can be part of. */
export interface StoreTranscript extends TranscriptStore {
  /**
   * From now on what is said in a conversation of the store is part of the thread, and what was said, too: read where the store keeps it, so
   * that edits and what is forgotten show here as well. False when there is no such conversation (yet).
   * `reader`: of what was said only the words of these principals, and the answers to them. @throws Rejection forbidden
   */
  bindStore(thread: ThreadKey, conversation: StoreThreadName | number, reader?: readonly string[]): Promise<boolean>
  /** Whether the store has such a conversation; nothing is written. */
  hasConversation(conversation: StoreThreadName): Promise<boolean>
  /** With the tasks of the store: each is an entry more. */
  readUsage(owner: string): Promise<OwnerQuota>
  /** Whether there is room for so much more, for what is not written here. @throws Rejection too_large */
  checkQuota(owner: string, by: OwnerQuota, most: OwnerQuota): Promise<void>
  /** All threads of an owner, with their names; how many there were. Locks do not keep them. */
  forgetOwner(owner: string): Promise<number>
}

/** The transcript beside the store's own tables, in the same file: what resolves is durable. */
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
  /** What needs room: what came to the owner's tasks in the same transaction takes of it, too. */
  const writeInto = <T>(operation: (batch: Batch) => T, touched: readonly string[]) =>
    write(
      batch => {
        taskBytes.book(batch)
        return operation(batch)
      },
      { touches: () => touched },
    )

  return {
    readUsage: async owner => usage.read(owner),
    checkQuota: async (owner, by, most) => usage.check(owner, by, most),
    async openThread(owner, alias, most) {
      const known = threads.findByAlias(owner, alias)
      return known === undefined
        ? write(batch => writes.open(batch, { owner, alias, most }), { touches: () => [touchedAlias(owner, alias)] })
        : { owner, thread_id: known }
    },
    ...createThreadNaming(threads, write),
    ...createThreadReading({ db, write, threads, table, bindings, writes }),
    append: (key, entries, request) =>
      writeInto(batch => writes.append(key, entries, { batch, request, now: now() }), listWritten(key, request)),
    replace: (key, entries, request) =>
      writeInto(batch => writes.replace(key, entries, { batch, request, now: now() }), listWritten(key, request)),
    forget: (key, request) => write(batch => writes.forget(key, { batch, request, now: now() })),
    hasConversation: async conversation => bindings.findStoreThread(conversation) !== undefined,
    bindStore: (key, conversation, reader) =>
      write(
        () => {
          const [thread, storeThread] = readTogether(db, [
            () => threads.require(key),
            () => (typeof conversation === 'number' ? conversation : bindings.findStoreThread(conversation)),
          ])
          if (storeThread !== undefined)
            writes.bind(key, thread, storeThread, reader && JSON.stringify(reader.toSorted()))
          return storeThread !== undefined
        },
        { touches: () => [touchedTranscript(key)] },
      ),
    async forgetOwner(owner) {
      const forgotten = await write(() => writes.forgetOwner(owner))
      scrub()
      return forgotten
    },
    ...createThreadLocks(threads, { write, now }),
  }
}

const touchedTranscript = ({ owner, thread_id }: ThreadKey) => JSON.stringify(['transcript', owner, thread_id])
const touchedAlias = (owner: string, { transport, key }: ThreadAlias) =>
  JSON.stringify(['transcript alias', owner, transport, key])
/** What an owner has, where it is compared with what they may have. */
const listQuota = (owner: string, most: OwnerQuota | undefined) => (most ? [JSON.stringify(['quota', owner])] : [])
const listWritten = (key: ThreadKey, request: WriteRequest | undefined) => [
  touchedTranscript(key),
  ...listQuota(key.owner, request?.most),
]

function createThreadNaming(
  threads: TranscriptThreads,
  write: StoreContext['write'],
): Pick<TranscriptStore, 'findThread' | 'addAlias' | 'listAliases'> {
  return {
    async findThread(owner, alias) {
      const known = threads.findByAlias(owner, alias)
      return known === undefined ? undefined : { owner, thread_id: known }
    },
    addAlias: (key, alias) =>
      write(
        () => {
          const { id } = threads.require(key)
          const known = threads.findByAlias(key.owner, alias)
          if (known === undefined) threads.addAlias(key.owner, alias, id)
          else if (known !== key.thread_id) {
            throw new Rejection('forbidden', 'Cannot name thread: the name is another thread’s')
          }
        },
        { touches: () => [touchedTranscript(key), touchedAlias(key.owner, alias)] },
      ),
    async listAliases(key) {
      const thread = threads.find(key)
      return thread ? threads.listAliases(thread.id) : []
    },
  }
}

interface ReadingDeps extends Pick<StoreContext, 'db' | 'write'> {
  readonly threads: TranscriptThreads
  readonly table: TranscriptTable
  readonly bindings: StoreBindings
  readonly writes: ThreadWrites
}

function createThreadReading({
  db,
  write,
  threads,
  table,
  bindings,
  writes,
}: ReadingDeps): Pick<TranscriptStore, 'read' | 'find'> {
  const readRange = createRangeReader(db, table)

  /** What was said at the store since somebody last looked gets its places. */
  async function catchUp(key: ThreadKey): Promise<TranscriptThread | undefined> {
    for (;;) {
      const [thread, hasNews] = await readAfterWait(db, () => {
        const found = threads.find(key)
        return [found, found !== undefined && bindings.hasNews(found.id)] as const
      })
      if (!hasNews) return thread
      await write(batch => void writes.takeNews(batch, key), { touches: () => [touchedTranscript(key)] })
    }
  }

  return {
    async read(key, range = {}) {
      const thread = await catchUp(key)
      return thread ? readAfterWait(db, () => readRange(thread.id, range)) : []
    },
    async find(key, entryIds) {
      const thread = await catchUp(key)
      if (!thread) return []
      const find = (id: string) => table.findByName(thread.id, nameEntry({ entry_id: id }))
      return readAfterWait(db, () => entryIds.map(find).filter(entry => entry !== undefined))
    },
  }
}

function createThreadLocks(
  threads: TranscriptThreads,
  { write, now }: Pick<StoreContext, 'write' | 'now'>,
): Pick<TranscriptStore, 'acquireLock' | 'isLocked' | 'releaseLock'> {
  return {
    acquireLock: (key, ttlMs) =>
      write(
        () => {
          const thread = threads.require(key)
          if (holderOf(thread, now()) !== undefined) return undefined
          const lock = { token: randomBytes(16).toString('hex'), fence: thread.fences + 1 }
          const expires_at = now() + ttlMs
          threads.lock(thread.id, { ...lock, until: expires_at })
          return { ...lock, expires_at }
        },
        { touches: () => [touchedTranscript(key)] },
      ),
    async isLocked(key) {
      const thread = threads.find(key)
      return thread !== undefined && holderOf(thread, now()) !== undefined
    },
    releaseLock: (key, token) =>
      write(
        () => {
          const thread = threads.find(key)
          return thread !== undefined && threads.unlock(thread.id, token, now())
        },
        { touches: () => [touchedTranscript(key)] },
      ),
  }
}

/** What writes to threads, and books how much their owner has then; `most`: what they may have. Synchronous: each inside a write. */
interface ThreadWrites {
  open(batch: Batch, thread: NewThread): ThreadKey
  /** What was said at the store since somebody last looked gets its places: the first of it, when it is much. */
  takeNews(batch: Batch, key: ThreadKey): TranscriptThread | undefined
  append(key: ThreadKey, entries: readonly EntryBody[], how: WriteHow): readonly TranscriptEntry[]
  replace(key: ThreadKey, entries: readonly EntryBody[], how: WriteHow): readonly TranscriptEntry[]
  bind(key: ThreadKey, thread: TranscriptThread, storeThread: number, reader: string | undefined): void
  forget(key: ThreadKey, how: WriteHow): void
  /** @returns how many threads there were */
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

function createThreadWrites({ db, threads, table, bindings, usage }: WriteDeps): ThreadWrites {
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
      const [known, used] = readTogether(db, [() => threads.findByAlias(owner, alias), () => most && usage.read(owner)])
      if (known !== undefined) return { owner, thread_id: known }
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
      const { asked, extent } = placeEntries(table, { ...empty, id: thread.id }, firstOfEachId(entries))
      for (const entry of asked) table.addNames(thread.id, entry, true)
      settle(key.owner, thread, extent, request?.most)
      return asked
    },
    // For other eyes than before it is told anew, from the beginning.
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

/** Gives what was said at the store its places in a thread. */
function createNewsTaking({ threads, table, bindings }: Omit<WriteDeps, 'db' | 'usage'>) {
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
