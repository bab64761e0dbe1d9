// Makes a conversation of the store part of a transcript thread.
import type { ThreadAlias, ThreadKey } from '@postern/transcript'
import type { Operation } from '../sql/operation.ts'
import { runTogether } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import { selectThreadOfKey } from '../threads/threads.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { StoreBindings, StoreThreadName } from './store-bindings.ts'
import { aliasConflict, transcriptConflict } from './threads/transcript-conflicts.ts'
import type { TranscriptThreadTable } from './threads/transcript-thread-table.ts'
import type { ThreadWriter } from './write-threads.ts'

/** Binds conversations of the store to threads. */
export interface ConversationBinding {
  /**
   * Makes a conversation of the store part of the thread, with all earlier and later messages. The thread refers to the messages and does not copy them,
   * so that it follows edits and deletions. Returns false if there is no such conversation yet. With `readers`, the thread has only the messages of
   * these principals and the answers to them.
   * @throws Rejection forbidden
   */
  bindStore(thread: ThreadKey, conversation: StoreThreadName | number, readers?: readonly string[]): Promise<boolean>
  /** Finds the thread with this alias and the conversation that belongs to it, and writes nothing. */
  findBinding(owner: string, alias: ThreadAlias, conversation: StoreThreadName): Promise<FoundBinding>
  /**
   * Opens a thread with a conversation of the store in one transaction. If another thread has this alias already, binds the conversation to that thread.
   * Returns undefined if there is neither such a thread nor such a conversation.
   */
  openBound(owner: string, alias: ThreadAlias, conversation: StoreThreadName): Promise<ThreadKey | undefined>
}

/** A thread and a conversation with the names of one chat. */
interface FoundBinding {
  readonly thread: ThreadKey | undefined
  readonly hasConversation: boolean
}

interface BindingDeps extends Pick<StoreContext, 'db' | 'write'> {
  readonly threads: Pick<TranscriptThreadTable, 'require'>
  readonly bindings: Pick<StoreBindings, 'findStoreThread' | 'bind'>
  readonly threadWriter: Pick<ThreadWriter, 'bind' | 'create'>
}

interface BindingRow {
  readonly thread_id: string | null
  readonly store_thread: number | null
}

export function createConversationBinder({
  db,
  write,
  threads,
  bindings,
  threadWriter,
}: BindingDeps): ConversationBinding {
  const findRow = createBindingFinder(db)
  const openUnlessOpen = createBoundOpening({ write, bindings, threadWriter }, findRow)

  function bindStore(
    key: ThreadKey,
    conversation: StoreThreadName | number,
    threadReaders?: readonly string[],
  ): Promise<boolean> {
    const reader = threadReaders && JSON.stringify(threadReaders.toSorted())
    return write(
      function* () {
        const [thread, storeThread] = yield* runTogether([
          () => threads.require(key),
          function* () {
            return typeof conversation === 'number' ? conversation : yield* bindings.findStoreThread(conversation)
          },
        ])
        if (storeThread !== undefined) yield* threadWriter.bind(key, thread, storeThread, reader)
        return storeThread !== undefined
      },
      { conflictKeys: () => [transcriptConflict(key)] },
    )
  }

  return {
    findBinding: (owner, alias, conversation) =>
      db.read(function* () {
        const { thread_id, store_thread } = yield* findRow(owner, alias, conversation)
        const thread = thread_id === null ? undefined : { owner, thread_id }
        return { thread, hasConversation: store_thread !== null }
      }),
    bindStore,
    async openBound(owner, alias, conversation) {
      const { newThread, existingThread } = await openUnlessOpen(owner, alias, conversation)
      if (existingThread) await bindStore(existingThread, conversation)
      return newThread ?? existingThread
    },
  }
}

/** The thread that was opened, or the thread that has its alias already. Both are absent if there is no such conversation. */
interface Opening {
  readonly newThread?: ThreadKey
  readonly existingThread?: ThreadKey
}

type FindBindingRow = ReturnType<typeof createBindingFinder>

/** Creates the opening of a thread whose alias no other thread has. Nobody else knows the new thread yet, so it needs no conflict key of its own. */
function createBoundOpening(
  { write, bindings, threadWriter }: Pick<BindingDeps, 'write' | 'bindings' | 'threadWriter'>,
  findRow: FindBindingRow,
): (owner: string, alias: ThreadAlias, conversation: StoreThreadName) => Promise<Opening> {
  return (owner, alias, conversation) =>
    write(
      function* (): Operation<Opening> {
        const { thread_id, store_thread } = yield* findRow(owner, alias, conversation)
        if (thread_id !== null) return { existingThread: { owner, thread_id } }
        if (store_thread === null) return {}
        const { key, id } = yield* threadWriter.create(owner, alias)
        yield* bindings.bind(id, store_thread)
        return { newThread: key }
      },
      { conflictKeys: () => [aliasConflict(owner, alias)] },
    )
}

/** Prepares the search for a thread by its alias and for the conversation that belongs to it, with a single statement. */
function createBindingFinder(db: Sql) {
  const storeThread = selectThreadOfKey({ agent: '?4', channel: '?5', scope: '?6', key: '?7' })
  const find = db.prepare<BindingRow>(
    `SELECT (SELECT t.thread_id FROM transcript_aliases a JOIN transcript_threads t ON t.id = a.thread
       WHERE a.owner = ?1 AND a.transport = ?2 AND a.key = ?3) AS thread_id, ${storeThread} AS store_thread`,
  )
  return function* (
    owner: string,
    { transport, key: aliasKey }: ThreadAlias,
    { agent, via, scope, key }: StoreThreadName,
  ): Operation<BindingRow> {
    const row = yield* find.get(owner, transport, aliasKey, agent, via, scope, key)
    return row ?? { thread_id: null, store_thread: null }
  }
}
