// Finds and adds the names of transcript threads.
import { Rejection } from '@postern/message'
import type { TranscriptStore } from '@postern/transcript'
import type { StoreContext } from '../../transaction/store-context.ts'
import { aliasConflict, transcriptConflict } from './transcript-conflicts.ts'
import type { TranscriptThreadTable } from './transcript-thread-table.ts'

export function createThreadNamer(
  threads: TranscriptThreadTable,
  write: StoreContext['write'],
): Pick<TranscriptStore, 'findThread' | 'addAlias' | 'listAliases'> {
  return {
    async findThread(owner, alias) {
      const threadId = threads.findByAlias(owner, alias)
      return threadId === undefined ? undefined : { owner, thread_id: threadId }
    },
    addAlias: (key, alias) =>
      write(
        () => {
          const { id } = threads.require(key)
          const threadId = threads.findByAlias(key.owner, alias)
          if (threadId === undefined) threads.addAlias(key.owner, alias, id)
          else if (threadId !== key.thread_id) {
            throw new Rejection('forbidden', 'Cannot name thread: the name is another thread’s')
          }
        },
        { conflictKeys: () => [transcriptConflict(key), aliasConflict(key.owner, alias)] },
      ),
    async listAliases(key) {
      const thread = threads.find(key)
      return thread ? threads.listAliases(thread.id) : []
    },
  }
}
