import { Rejection, Unavailable } from '@postern/core'
import type { EntryBody, OwnerQuota, ThreadAlias, ThreadKey, WriteRequest } from '@postern/transcript'
import type { Batch, Sql } from '../engine/database.ts'
import { mostAtOnce, prepareCheck, prepareInsert } from '../engine/database.ts'
import { endZeroTotals } from '../engine/totals/zero-totals.ts'
import type { StoreEntries } from './store/entries.ts'
import type { StoreBound } from './store/place.ts'

export interface TranscriptThread {
  readonly id: number
  readonly last_seq: number
  readonly last_chat_seq: number
  /** What was written into it; what the store keeps is counted there. */
  readonly entries: number
  readonly bytes: number
  readonly fences: number
  readonly lock_token: string | null
  readonly lock_expires_at: number | null
}

/** How far a thread has come: the last places that are given in it, and how much it is. */
export type ThreadExtent = Pick<TranscriptThread, 'last_seq' | 'last_chat_seq' | 'entries' | 'bytes'>

/** Threads, their names and who may write to them. Synchronous: what changes something runs inside a write. */
export interface TranscriptThreads {
  /** Only its owner finds a thread. */
  find(key: ThreadKey): TranscriptThread | undefined
  /** @throws Rejection forbidden */
  require(key: ThreadKey): TranscriptThread
  /** @throws Rejection forbidden, Unavailable while somebody else holds the thread */
  requireWriter(key: ThreadKey, request: WriteRequest | undefined, now: number): TranscriptThread
  findByAlias(owner: string, alias: ThreadAlias): string | undefined
  create(key: ThreadKey): number
  addAlias(owner: string, alias: ThreadAlias, thread: number): void
  listAliases(thread: number): readonly ThreadAlias[]
  move(thread: number, extent: ThreadExtent): void
  lock(thread: number, lock: { readonly token: string; readonly fence: number; readonly until: number }): void
  unlock(thread: number, token: string, now: number): boolean
  listOf(owner: string): readonly (ThreadExtent & { readonly id: number })[]
  remove(thread: number): void
}

export function createTranscriptThreads(db: Sql): TranscriptThreads {
  const find = db.prepare<TranscriptThread>(
    `SELECT id, last_seq, last_chat_seq, entries, bytes, fences, lock_token, lock_expires_at FROM transcript_threads
     WHERE thread_id = ? AND owner = ?`,
  )
  const create = prepareInsert(db, 'INSERT INTO transcript_threads (thread_id, owner) VALUES (?, ?)')
  const move = db.prepare(
    'UPDATE transcript_threads SET last_seq = ?, last_chat_seq = ?, entries = ?, bytes = ? WHERE id = ?',
  )
  const lock = db.prepare('UPDATE transcript_threads SET lock_token = ?, fences = ?, lock_expires_at = ? WHERE id = ?')
  const unlock = db.prepare(
    'UPDATE transcript_threads SET lock_token = NULL, lock_expires_at = NULL WHERE id = ? AND lock_token = ? AND lock_expires_at > ?',
  )
  const listOf = db.prepare<ThreadExtent & { id: number }>(
    'SELECT id, last_seq, last_chat_seq, entries, bytes FROM transcript_threads WHERE owner = ?',
  )
  const remove = db.prepare('DELETE FROM transcript_threads WHERE id = ?')
  const { removeAliases, ...aliases } = createThreadAliases(db)

  function requireThread({ thread_id, owner }: ThreadKey): TranscriptThread {
    const thread = find.get(thread_id, owner)
    if (!thread) throw new Rejection('forbidden', 'Cannot use thread: no such thread of this owner')
    return thread
  }

  return {
    find: ({ thread_id, owner }) => find.get(thread_id, owner),
    require: requireThread,
    requireWriter(key, request, now) {
      const thread = requireThread(key)
      if (holderOf(thread, now) !== request?.token) {
        throw new Unavailable('Cannot write thread: transcript_lock_contention')
      }
      return thread
    },
    ...aliases,
    create: ({ thread_id, owner }) => create(thread_id, owner),
    move: (thread, { last_seq, last_chat_seq, entries, bytes }) =>
      void move.run(last_seq, last_chat_seq, entries, bytes, thread),
    lock: (thread, { token, fence, until }) => void lock.run(token, fence, until, thread),
    unlock: (thread, token, now) => unlock.run(thread, token, now).changes > 0,
    listOf: owner => listOf.all(owner),
    remove(thread) {
      removeAliases(thread)
      remove.run(thread)
    },
  }
}

/** The names of threads. */
function createThreadAliases(db: Sql): Pick<TranscriptThreads, 'findByAlias' | 'addAlias' | 'listAliases'> & {
  readonly removeAliases: (thread: number) => void
} {
  const find = db.prepare<{ thread_id: string }>(
    `SELECT t.thread_id FROM transcript_aliases a JOIN transcript_threads t ON t.id = a.thread
     WHERE a.owner = ? AND a.transport = ? AND a.key = ?`,
  )
  const add = db.prepare('INSERT INTO transcript_aliases (owner, transport, key, thread) VALUES (?, ?, ?, ?)')
  const list = db.prepare<ThreadAlias>('SELECT transport, key FROM transcript_aliases WHERE thread = ? ORDER BY id')
  const remove = db.prepare('DELETE FROM transcript_aliases WHERE thread = ?')
  return {
    findByAlias: (owner, { transport, key }) => find.get(owner, transport, key)?.thread_id,
    addAlias: (owner, { transport, key }, thread) => void add.run(owner, transport, key, thread),
    listAliases: thread => list.all(thread).map(({ transport, key }) => ({ transport, key })),
    removeAliases: thread => void remove.run(thread),
  }
}

/** The token of who holds the thread now. */
export function holderOf({ lock_token, lock_expires_at }: TranscriptThread, now: number): string | undefined {
  return lock_token !== null && (lock_expires_at ?? 0) > now ? lock_token : undefined
}

/** Running totals, so that looking one up reads no thread. Synchronous: what writes runs inside a write. */
export interface UsageTable {
  /** What is written into threads, and taken out; `most`: what the owner may have then. @throws Rejection too_large, of what grows */
  add(owner: string, by: OwnerQuota, most?: OwnerQuota): void
  /** With what the store keeps of the owner's tasks, and agents of their conversations. */
  read(owner: string): OwnerQuota
  /** @throws Rejection too_large when the owner has no room for so much more */
  check(owner: string, by: OwnerQuota, most: OwnerQuota): void
  /** Others of the owner may begin threads now. @throws Rejection too_large when there is no room for one more */
  requireThread(batch: Batch, owner: string, room: { readonly used: number; readonly most: number }): void
}

const nothing: OwnerQuota = { threads: 0, entries: 0, bytes: 0 }

export function createUsageTable(db: Sql): UsageTable {
  const add = db.prepare(
    `INSERT INTO transcript_usage (owner, threads, entries, bytes) VALUES (?, ?, ?, ?) ON CONFLICT (owner, shard) DO UPDATE SET
       threads = transcript_usage.threads + excluded.threads, entries = transcript_usage.entries + excluded.entries,
       bytes = transcript_usage.bytes + excluded.bytes`,
  )
  const end = db.prepare(endZeroTotals('transcript_usage', ['threads', 'entries', 'bytes']))
  const find = db.prepare<OwnerQuota>(
    `SELECT sum(threads) AS threads, sum(entries) AS entries, sum(bytes) AS bytes FROM (
       SELECT threads, entries, bytes FROM transcript_usage WHERE owner = ?1
       UNION ALL SELECT 0, tasks, bytes FROM task_bytes WHERE owner = ?1
       UNION ALL SELECT 0, 0, bytes FROM kept_data WHERE owner = ?1
       UNION ALL SELECT 0, 0, 0)`,
  )

  const checkThreads = prepareCheck(
    db,
    'SELECT coalesce(sum(threads), 0) <= ?2 AS is_so FROM transcript_usage WHERE owner = ?1',
  )

  const read = (owner: string) => find.get(owner) ?? nothing

  function check(owner: string, by: OwnerQuota, most: OwnerQuota): void {
    const used = read(owner)
    for (const name of kinds) if (by[name] > 0 && used[name] + by[name] > most[name]) refuse(name, most[name])
  }

  return {
    add(owner, by, most) {
      if (kinds.every(name => by[name] === 0)) return
      if (most) check(owner, by, most)
      add.run(owner, by.threads, by.entries, by.bytes)
      if (by.threads < 0) end.run(owner)
    },
    read,
    check,
    requireThread(batch, owner, { used, most }) {
      if (most - used <= mostAtOnce) batch.standAlone()
      if (used >= most) refuse('threads', most)
      if (batch.hasCompany) batch.checks.set(`threads of ${owner}`, () => checkThreads(owner, most))
    },
  }
}

function refuse(kind: keyof OwnerQuota, most: number): never {
  throw new Rejection('too_large', `Cannot store: with it you would have more than ${most} ${kind}`)
}

const kinds = ['threads', 'entries', 'bytes'] as const

/** A conversation of the store, as its channel knows it. */
export interface StoreThreadName {
  readonly agent: string
  readonly via: string
  readonly scope: string
  /** The thread id of its messages. */
  readonly key: string
}

/** What a thread does not have yet of a conversation bound to it: the first of it, when it is much. */
export interface ThreadNews {
  readonly store_thread: number
  readonly position: number
  readonly said: readonly (readonly [seq: number, entries: readonly EntryBody[]])[]
}

/** As many are given their places in one transaction, so that others get their turn. */
const mostNews = 200

/** Which conversations of the store are part of which threads. Synchronous. */
export interface StoreBindings {
  findStoreThread(name: StoreThreadName): number | undefined
  /** `reader`: only the words of these principals, a JSON list, and the answers to them. False: it is bound for other ones. */
  bind(thread: number, storeThread: number, reader?: string): boolean
  /** Numbers of the conversations that are part of it. */
  listBound(thread: number): readonly number[]
  hasNews(thread: number): boolean
  listNews(thread: number, thread_id: string): readonly ThreadNews[]
  /** They are part of the thread now. */
  moveOn(thread: number, news: ThreadNews): void
  remove(thread: number): void
}

export function createStoreBindings(db: Sql, said: StoreEntries): StoreBindings {
  const findStoreThread = db.prepare<{ thread_id: number }>(
    'SELECT thread_id FROM thread_aliases WHERE name = ? AND agent = ? AND channel = ? AND scope = ? AND is_key = 1',
  )
  const bind = db.prepare('INSERT OR IGNORE INTO transcript_bindings (thread, store_thread, reader) VALUES (?, ?, ?)')
  const findReader = db.prepare<{ reader: string | null }>(
    'SELECT reader FROM transcript_bindings WHERE thread = ? AND store_thread = ?',
  )
  const list = db.prepare<StoreBound>(
    'SELECT thread, store_thread, position, reader FROM transcript_bindings WHERE thread = ?',
  )
  const move = db.prepare('UPDATE transcript_bindings SET position = ? WHERE thread = ? AND store_thread = ?')
  const remove = db.prepare('DELETE FROM transcript_bindings WHERE thread = ?')

  function readNews(bound: StoreBound, thread_id: string): ThreadNews {
    const { store_thread } = bound
    const found = said.listNew(bound, mostNews + 1)
    const rest = found[mostNews]
    const open = said.findOpenPlace(store_thread)
    // In the order in which the store was told.
    const news = found.slice(0, mostNews).toSorted((a, b) => a.seq - b.seq)
    return {
      store_thread,
      position: rest ? Math.min(rest.position, open) : open,
      said: news.map(({ seq }) => [seq, said.read(seq, thread_id) ?? []] as const),
    }
  }

  return {
    findStoreThread: ({ agent, via, scope, key }) => findStoreThread.get(key, agent, via, scope)?.thread_id,
    bind(thread, storeThread, reader) {
      if (bind.run(thread, storeThread, reader ?? null).changes > 0) return true
      return (findReader.get(thread, storeThread)?.reader ?? undefined) === reader
    },
    listBound: thread => list.all(thread).map(({ store_thread }) => store_thread),
    hasNews: thread => list.all(thread).some(bound => said.listNew(bound, 1).length > 0),
    listNews: (thread, thread_id) =>
      list
        .all(thread)
        .map(bound => readNews(bound, thread_id))
        .filter(news => news.said.length > 0),
    moveOn: (thread, { store_thread, position }) => void move.run(position, thread, store_thread),
    remove: thread => void remove.run(thread),
  }
}
