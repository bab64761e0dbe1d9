// Stores transcript threads and their names.
import { Rejection, Unavailable } from '@postern/message'
import type { ThreadAlias, ThreadKey, WriteRequest } from '@postern/transcript'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'

export interface TranscriptThread {
  readonly id: number
  readonly last_seq: number
  readonly last_chat_seq: number
  /** The number of entries that were written into the thread. Entries that are messages of the store count for the quotas of messages instead. */
  readonly entries: number
  readonly bytes: number
  readonly fences: number
  readonly lock_token: string | null
  readonly lock_expires_at: number | null
}

/** The last positions of a thread and the amounts stored in it. */
export type ThreadExtent = Pick<TranscriptThread, 'last_seq' | 'last_chat_seq' | 'entries' | 'bytes'>

/** The tables of threads, their names and their locks. The members are operations. Those that change rows belong to a write. */
export interface TranscriptThreadTable {
  /** Finds a thread of its owner. */
  find(key: ThreadKey): Operation<TranscriptThread | undefined>
  /** Reads a thread of its owner. @throws Rejection forbidden */
  require(key: ThreadKey): Operation<TranscriptThread>
  /** Reads a thread for a write. @throws Rejection forbidden, Unavailable while another writer has locked the thread */
  requireWriter(key: ThreadKey, request: WriteRequest | undefined, now: number): Operation<TranscriptThread>
  findByAlias(owner: string, alias: ThreadAlias): Operation<string | undefined>
  create(key: ThreadKey): Operation<number>
  addAlias(owner: string, alias: ThreadAlias, thread: number): void
  listAliases(thread: number): Operation<readonly ThreadAlias[]>
  updateExtent(thread: number, extent: ThreadExtent): void
  lock(thread: number, lock: { readonly token: string; readonly fence: number; readonly expiresAt: number }): void
  unlock(thread: number, token: string, now: number): Operation<boolean>
  listByOwner(owner: string): Operation<readonly (ThreadExtent & { readonly id: number })[]>
  remove(thread: number): void
}

export function createTranscriptThreadTable(db: Sql): TranscriptThreadTable {
  const find = db.prepare<TranscriptThread>(
    `SELECT id, last_seq, last_chat_seq, entries, bytes, fences, lock_token, lock_expires_at FROM transcript_threads
     WHERE thread_id = ? AND owner = ?`,
  )
  const create = db.prepareInsert('INSERT INTO transcript_threads (thread_id, owner) VALUES (?, ?)')
  const updateExtent = db.prepare(
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

  function* requireThread({ thread_id, owner }: ThreadKey): Operation<TranscriptThread> {
    const thread = yield* find.get(thread_id, owner)
    if (!thread) throw new Rejection('forbidden', 'Cannot use thread: no such thread of this owner')
    return thread
  }

  return {
    find: ({ thread_id, owner }) => find.get(thread_id, owner),
    require: requireThread,
    *requireWriter(key, request, now) {
      const thread = yield* requireThread(key)
      if (findLockToken(thread, now) !== request?.token) {
        throw new Unavailable('Cannot write thread: transcript_lock_contention')
      }
      return thread
    },
    ...aliases,
    create: ({ thread_id, owner }) => create(thread_id, owner),
    updateExtent: (thread, { last_seq, last_chat_seq, entries, bytes }) =>
      void updateExtent.run(last_seq, last_chat_seq, entries, bytes, thread),
    lock: (thread, { token, fence, expiresAt }) => void lock.run(token, fence, expiresAt, thread),
    *unlock(thread, token, now) {
      return (yield* unlock.change(thread, token, now)) > 0
    },
    listByOwner: owner => listOf.all(owner),
    remove(thread) {
      removeAliases(thread)
      remove.run(thread)
    },
  }
}

/** Prepares the statements for names of threads. */
function createThreadAliases(db: Sql): Pick<TranscriptThreadTable, 'findByAlias' | 'addAlias' | 'listAliases'> & {
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
    *findByAlias(owner, { transport, key }) {
      return (yield* find.get(owner, transport, key))?.thread_id
    },
    addAlias: (owner, { transport, key }, thread) => void add.run(owner, transport, key, thread),
    *listAliases(thread) {
      return (yield* list.all(thread)).map(({ transport, key }) => ({ transport, key }))
    },
    removeAliases: thread => void remove.run(thread),
  }
}

/** Returns the token of the writer that has locked a thread at this time. */
export function findLockToken({ lock_token, lock_expires_at }: TranscriptThread, now: number): string | undefined {
  return lock_token !== null && (lock_expires_at ?? 0) > now ? lock_token : undefined
}
