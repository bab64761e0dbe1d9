// Makes a conversation of the store part of a transcript thread.
import type { ThreadKey } from '@postern/transcript'
import { runTogether } from '../sql/operation.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { StoreBindings, StoreThreadName } from './store-bindings.ts'
import { transcriptConflict } from './threads/transcript-conflicts.ts'
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
  /** Returns true if the store has a conversation with this name. */
  hasConversation(conversation: StoreThreadName): Promise<boolean>
}

interface BindingDeps extends Pick<StoreContext, 'db' | 'write'> {
  readonly threads: Pick<TranscriptThreadTable, 'require'>
  readonly bindings: Pick<StoreBindings, 'findStoreThread'>
  readonly threadWriter: Pick<ThreadWriter, 'bind'>
}

export function createConversationBinder({
  db,
  write,
  threads,
  bindings,
  threadWriter,
}: BindingDeps): ConversationBinding {
  return {
    hasConversation: conversation =>
      db.read(function* () {
        return (yield* bindings.findStoreThread(conversation)) !== undefined
      }),
    bindStore: (key, conversation, threadReaders) =>
      write(
        function* () {
          const [thread, storeThread] = yield* runTogether([
            () => threads.require(key),
            function* () {
              return typeof conversation === 'number' ? conversation : yield* bindings.findStoreThread(conversation)
            },
          ])
          if (storeThread !== undefined)
            yield* threadWriter.bind(
              key,
              thread,
              storeThread,
              threadReaders && JSON.stringify(threadReaders.toSorted()),
            )
          return storeThread !== undefined
        },
        { conflictKeys: () => [transcriptConflict(key)] },
      ),
  }
}
