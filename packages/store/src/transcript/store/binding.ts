import type { EntryBody } from '@postern/transcript'
import type { Database } from '../../engine/database.ts'
import { prepareQuery } from '../../engine/database.ts'
import type { StoreEntries } from './entries.ts'
import type { StoreBound } from './place.ts'

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
  bind(thread: number, connectionWorker: number, reader?: string): boolean
  /** Numbers of the conversations that are part of it. */
  listBound(thread: number): readonly number[]
  hasNews(thread: number): boolean
  listNews(thread: number, thread_id: string): readonly ThreadNews[]
  /** They are part of the thread now. */
  moveOn(thread: number, news: ThreadNews): void
  remove(thread: number): void
}

export function createStoreBindings(db: Database, said: StoreEntries): StoreBindings {
  const findStoreThread = prepareQuery<{ thread_id: number }>(
    db,
    'SELECT thread_id FROM thread_aliases WHERE name = ? AND agent = ? AND channel = ? AND scope = ? AND is_key = 1',
  )
  const bind = prepareQuery(
    db,
    'INSERT OR IGNORE INTO transcript_bindings (thread, store_thread, reader) VALUES (?, ?, ?)',
  )
  const findReader = prepareQuery<{ reader: string | null }>(
    db,
    'SELECT reader FROM transcript_bindings WHERE thread = ? AND store_thread = ?',
  )
  const list = prepareQuery<StoreBound>(
    db,
    'SELECT thread, store_thread, position, reader FROM transcript_bindings WHERE thread = ?',
  )
  const move = prepareQuery(db, 'UPDATE transcript_bindings SET position = ? WHERE thread = ? AND store_thread = ?')
  const remove = prepareQuery(db, 'DELETE FROM transcript_bindings WHERE thread = ?')

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
    bind(thread, connectionWorker, reader) {
      if (bind.run(thread, connectionWorker, reader ?? null).changes > 0) return true
      return (findReader.get(thread, connectionWorker)?.reader ?? undefined) === reader
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
