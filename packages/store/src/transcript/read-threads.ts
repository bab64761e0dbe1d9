// Reads transcript threads together with new entries of bound conversations.
import type { ThreadKey, TranscriptStore } from '@postern/transcript'
import { nameEntry } from '@postern/transcript'
import { mapInOrder } from '../sql/operation.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { TranscriptEntryTable } from './entry-table.ts'
import { createRangeReader } from './range-query.ts'
import type { StoreBindings } from './store-bindings.ts'
import { transcriptConflict } from './threads/transcript-conflicts.ts'
import type { TranscriptThread, TranscriptThreadTable } from './threads/transcript-thread-table.ts'
import type { ThreadWriter } from './write-threads.ts'

interface ReadingDeps extends Pick<StoreContext, 'db' | 'write'> {
  readonly threads: TranscriptThreadTable
  readonly table: TranscriptEntryTable
  readonly bindings: StoreBindings
  readonly threadWriter: ThreadWriter
}

export function createThreadReader({
  db,
  write,
  threads,
  table,
  bindings,
  threadWriter,
}: ReadingDeps): Pick<TranscriptStore, 'read' | 'find'> {
  const readRange = createRangeReader(db, table)

  /** Reads a thread after adding the new entries of its bound conversations. */
  async function readCurrentThread(key: ThreadKey): Promise<TranscriptThread | undefined> {
    for (;;) {
      const [thread, hasNewEntries] = await db.read(function* () {
        const thread = yield* threads.find(key)
        return [thread, thread !== undefined && (yield* bindings.hasNewEntries(thread.id))] as const
      })
      if (!hasNewEntries) return thread
      await write(
        function* (batch) {
          yield* threadWriter.appendNewEntries(batch, key)
        },
        {
          conflictKeys: () => [transcriptConflict(key)],
        },
      )
    }
  }

  return {
    async read(key, range = {}) {
      const thread = await readCurrentThread(key)
      return thread ? db.read(() => readRange(thread.id, range)) : []
    },
    async find(key, entryIds) {
      const thread = await readCurrentThread(key)
      if (!thread) return []
      const find = (id: string) => table.findByName(thread.id, nameEntry({ entry_id: id }))
      return db.read(function* () {
        return (yield* mapInOrder(entryIds, find)).filter(entry => entry !== undefined)
      })
    },
  }
}
