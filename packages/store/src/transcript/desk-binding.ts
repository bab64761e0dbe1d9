import type { EntryBody } from '@postern/transcript'
import type { Database } from '../database.ts'
import { prepareQuery } from '../database.ts'
import type { DeskBound, DeskEntries } from './desk-entries.ts'

/** A conversation of the desk, as its channel knows it. */
export interface DeskThreadName {
  readonly agent: string
  readonly via: string
  readonly scope: string
  /** The thread id of its messages. */
  readonly key: string
}

/** What a thread does not have yet of a conversation bound to it: the first of it, when it is much. */
export interface DeskNews {
  readonly desk_thread: number
  readonly place: number
  readonly said: readonly (readonly [seq: number, entries: readonly EntryBody[]])[]
}

/** As many are given their places in one transaction, so that others get their turn. */
const mostNews = 200

/** Which conversations of the desk are part of which threads. Synchronous. */
export interface DeskBindings {
  findDeskThread(name: DeskThreadName): number | undefined
  /** `reader`: only the words of these principals, a JSON list, and the answers to them. False: it is bound for other ones. */
  bind(thread: number, deskThread: number, reader?: string): boolean
  hasNews(thread: number): boolean
  listNews(thread: number, thread_id: string): readonly DeskNews[]
  /** They are part of the thread now. */
  moveOn(thread: number, news: DeskNews): void
  remove(thread: number): void
}

export function createDeskBindings(db: Database, said: DeskEntries): DeskBindings {
  const findDeskThread = prepareQuery<{ thread_id: number }>(
    db,
    'SELECT thread_id FROM names WHERE name = ? AND agent = ? AND via = ? AND scope = ? AND is_key = 1',
  )
  const bind = prepareQuery(
    db,
    'INSERT OR IGNORE INTO transcript_bindings (thread, desk_thread, reader) VALUES (?, ?, ?)',
  )
  const findReader = prepareQuery<{ reader: string | null }>(
    db,
    'SELECT reader FROM transcript_bindings WHERE thread = ? AND desk_thread = ?',
  )
  const list = prepareQuery<DeskBound>(
    db,
    'SELECT thread, desk_thread, place, reader FROM transcript_bindings WHERE thread = ?',
  )
  const move = prepareQuery(db, 'UPDATE transcript_bindings SET place = ? WHERE thread = ? AND desk_thread = ?')
  const remove = prepareQuery(db, 'DELETE FROM transcript_bindings WHERE thread = ?')

  function readNews(bound: DeskBound, thread_id: string): DeskNews {
    const { desk_thread } = bound
    const found = said.listNew(bound, mostNews + 1)
    const rest = found[mostNews]
    const open = said.findOpenPlace(desk_thread)
    // In the order in which the desk was told.
    const news = found.slice(0, mostNews).toSorted((a, b) => a.seq - b.seq)
    return {
      desk_thread,
      place: rest ? Math.min(rest.place, open) : open,
      said: news.map(({ seq }) => [seq, said.read(seq, thread_id) ?? []] as const),
    }
  }

  return {
    findDeskThread: ({ agent, via, scope, key }) => findDeskThread.get(key, agent, via, scope)?.thread_id,
    bind(thread, deskThread, reader) {
      if (bind.run(thread, deskThread, reader ?? null).changes > 0) return true
      return (findReader.get(thread, deskThread)?.reader ?? undefined) === reader
    },
    hasNews: thread => list.all(thread).some(bound => said.listNew(bound, 1).length > 0),
    listNews: (thread, thread_id) =>
      list
        .all(thread)
        .map(bound => readNews(bound, thread_id))
        .filter(news => news.said.length > 0),
    moveOn: (thread, { desk_thread, place }) => void move.run(place, thread, desk_thread),
    remove: thread => void remove.run(thread),
  }
}
