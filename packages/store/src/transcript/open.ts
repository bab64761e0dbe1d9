import { randomBytes } from 'node:crypto'
import { Rejection } from '@postern/core'
import type { OwnerQuota, ThreadAlias, ThreadKey, TranscriptStore } from '@postern/transcript'
import { nameEntry } from '@postern/transcript'
import type { Batch } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import { createTaskBytes } from '../engine/task-bytes.ts'
import type { TranscriptTable } from './entry-table.ts'
import { createTranscriptTable } from './entry-table.ts'
import { createRangeReader } from './range-query.ts'
import type { StoreBindings, StoreThreadName } from './store/binding.ts'
import { createStoreBindings } from './store/binding.ts'
import type { DiffDeps } from './store/diff.ts'
import { createDiffFinder } from './store/diff.ts'
import { createStoreEntries } from './store/entries.ts'
import type { TranscriptThread, TranscriptThreads } from './thread-table.ts'
import { createTranscriptThreads, createUsageTable, holderOf } from './thread-table.ts'
import type { ThreadWrites } from './thread-writes.ts'
import { createThreadWrites } from './thread-writes.ts'

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
  const writes = createThreadWrites({ threads, table, bindings, usage })
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
        ? writeInto(() => writes.open(owner, alias, most), [touchedAlias(owner, alias), touchedQuota(owner)])
        : { owner, thread_id: known }
    },
    ...createThreadNaming(threads, write),
    ...createThreadReading({ db, write, threads, table, bindings, writes }),
    append: (key, entries, request) =>
      writeInto(batch => writes.append(key, entries, { batch, request, now: now() }), listWritten(key)),
    replace: (key, entries, request) =>
      writeInto(batch => writes.replace(key, entries, { batch, request, now: now() }), listWritten(key)),
    forget: (key, request) => write(batch => writes.forget(key, { batch, request, now: now() })),
    hasConversation: async conversation => bindings.findStoreThread(conversation) !== undefined,
    bindStore: (key, conversation, reader) =>
      write(
        () => {
          threads.require(key)
          const connectionWorker =
            typeof conversation === 'number' ? conversation : bindings.findStoreThread(conversation)
          if (connectionWorker !== undefined)
            writes.bind(key, connectionWorker, reader && JSON.stringify(reader.toSorted()))
          return connectionWorker !== undefined
        },
        { touches: () => listWritten(key) },
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
/** What an owner has is compared with what they may have. */
const touchedQuota = (owner: string) => JSON.stringify(['quota', owner])
const listWritten = (key: ThreadKey): readonly string[] => [touchedTranscript(key), touchedQuota(key.owner)]

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
      const thread = threads.find(key)
      if (!thread || !bindings.hasNews(thread.id)) return thread
      await write(batch => void writes.takeNews(batch, key), { touches: () => [touchedTranscript(key)] })
    }
  }

  return {
    async read(key, range = {}) {
      const thread = await catchUp(key)
      return thread ? readRange(thread.id, range) : []
    },
    async find(key, entryIds) {
      const thread = await catchUp(key)
      if (!thread) return []
      return entryIds
        .map(id => table.findByName(thread.id, nameEntry({ entry_id: id })))
        .filter(entry => entry !== undefined)
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
