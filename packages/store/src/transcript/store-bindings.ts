// Binds conversations of the store to transcript threads.
import type { EntryBody } from '@postern/transcript'
import type { Operation } from '../sql/operation.ts'
import { mapInOrder } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { BoundConversation } from './conversation/bound-conversation.ts'
import type { StoreEntries } from './conversation/entries.ts'

/** The name of a conversation of the store on a channel. */
export interface StoreThreadName {
  readonly agent: string
  readonly via: string
  readonly scope: string
  /** The `thread_source` of the messages in the conversation. */
  readonly key: string
}

/** At most `maxNewEntries` entries of a bound conversation that a thread does not have yet. */
export interface NewEntries {
  readonly store_thread: number
  readonly position: number
  readonly messages: readonly (readonly [seq: number, entries: readonly EntryBody[]])[]
}

/** The maximum number of entries that one transaction adds, so that other writes can run in between. */
const maxNewEntries = 200

/** The bindings of conversations to threads. The members are operations. */
export interface StoreBindings {
  findStoreThread(name: StoreThreadName): Operation<number | undefined>
  /**
   * Binds a conversation. `reader` is a JSON list of the principals whose messages are included, together with the answers to them. Returns false if the
   * conversation is bound for other readers already.
   */
  bind(thread: number, storeThread: number, reader?: string): Operation<boolean>
  /** Lists the numbers of the bound conversations. */
  listBound(thread: number): Operation<readonly number[]>
  hasNewEntries(thread: number): Operation<boolean>
  listNewEntries(thread: number, thread_id: string): Operation<readonly NewEntries[]>
  /** Moves the position of the binding after these entries. */
  advance(thread: number, newEntries: NewEntries): void
  remove(thread: number): void
}

export function createStoreBindings(db: Sql, storeEntries: StoreEntries): StoreBindings {
  const findStoreThread = db.prepare<{ thread_id: number }>(
    'SELECT thread_id FROM thread_aliases WHERE name = ? AND agent = ? AND channel = ? AND scope = ? AND is_key = 1',
  )
  const bind = db.prepare('INSERT OR IGNORE INTO transcript_bindings (thread, store_thread, reader) VALUES (?, ?, ?)')
  const findReader = db.prepare<{ reader: string | null }>(
    'SELECT reader FROM transcript_bindings WHERE thread = ? AND store_thread = ?',
  )
  const list = db.prepare<BoundConversation>(
    'SELECT thread, store_thread, position, reader FROM transcript_bindings WHERE thread = ?',
  )
  const updatePosition = db.prepare('UPDATE transcript_bindings SET position = ? WHERE thread = ? AND store_thread = ?')
  const remove = db.prepare('DELETE FROM transcript_bindings WHERE thread = ?')

  function* readNewEntries(conversation: BoundConversation, thread_id: string): Operation<NewEntries> {
    const { store_thread } = conversation
    const newEntries = yield* storeEntries.listNew(conversation, maxNewEntries + 1)
    const nextEntry = newEntries[maxNewEntries]
    const openPosition = yield* storeEntries.findOpenPosition(store_thread)
    // Entries are added in the order of their arrival.
    const newMessages = newEntries.slice(0, maxNewEntries).toSorted((a, b) => a.seq - b.seq)
    return {
      store_thread,
      position: nextEntry ? Math.min(nextEntry.position, openPosition) : openPosition,
      messages: yield* mapInOrder(newMessages, function* ({ seq }) {
        return [seq, (yield* storeEntries.read(seq, thread_id)) ?? []] as const
      }),
    }
  }

  return {
    *findStoreThread({ agent, via, scope, key }) {
      return (yield* findStoreThread.get(key, agent, via, scope))?.thread_id
    },
    *bind(thread, storeThread, reader) {
      if ((yield* bind.change(thread, storeThread, reader ?? null)) > 0) return true
      return ((yield* findReader.get(thread, storeThread))?.reader ?? undefined) === reader
    },
    *listBound(thread) {
      return (yield* list.all(thread)).map(({ store_thread }) => store_thread)
    },
    *hasNewEntries(thread) {
      for (const boundConversation of yield* list.all(thread))
        if ((yield* storeEntries.listNew(boundConversation, 1)).length > 0) return true
      return false
    },
    *listNewEntries(thread, thread_id) {
      return (yield* mapInOrder(yield* list.all(thread), bound => readNewEntries(bound, thread_id))).filter(
        newEntries => newEntries.messages.length > 0,
      )
    },
    advance: (thread, { store_thread, position }) => void updatePosition.run(position, thread, store_thread),
    remove: thread => void remove.run(thread),
  }
}
