// Finds and adds the names of transcript threads.
import { Rejection } from '@postern/message'
import type { TranscriptStore } from '@postern/transcript'
import type { StoreContext } from '../../transaction/store-context.ts'
import { aliasConflict, transcriptConflict } from './transcript-conflicts.ts'
import type { TranscriptThreadTable } from './transcript-thread-table.ts'

export function createThreadNamer(
  threads: TranscriptThreadTable,
  { db, write }: Pick<StoreContext, 'db' | 'write'>,
): Pick<TranscriptStore, 'findThread' | 'addAlias' | 'listAliases'> {
  return {
    findThread(owner, alias) {
      return db.read(function* () {
        const threadId = yield* threads.findByAlias(owner, alias)
        return threadId === undefined ? undefined : { owner, thread_id: threadId }
      })
    },
    addAlias: (key, alias) =>
      write(
        function* () {
          const { id } = yield* threads.require(key)
          const threadId = yield* threads.findByAlias(key.owner, alias)
          if (threadId === undefined) threads.addAlias(key.owner, alias, id)
          else if (threadId !== key.thread_id) {
            throw new Rejection('forbidden', 'Cannot name thread: the name is another thread’s')
          }
        },
        { conflictKeys: () => [transcriptConflict(key), aliasConflict(key.owner, alias)] },
      ),
    listAliases(key) {
      return db.read(function* () {
        const thread = yield* threads.find(key)
        return thread ? yield* threads.listAliases(thread.id) : []
      })
    },
  }
}
