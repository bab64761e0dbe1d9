// Reads transcript threads together with new entries of bound conversations.
import type { ThreadKey, TranscriptStore } from '@postern/transcript'
import { nameEntry } from '@postern/transcript'
import { readAfterWait } from '../sql/engine-defaults.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { TranscriptTable } from './entry-table.ts'
import { createRangeReader } from './range-query.ts'
import type { StoreBindings } from './store-bindings.ts'
import type { TranscriptThread, TranscriptThreads } from './threads/thread-table.ts'
import { transcriptConflict } from './threads/transcript-conflicts.ts'
import type { ThreadWrites } from './write-threads.ts'

interface ReadingDeps extends Pick<StoreContext, 'db' | 'write'> {
  readonly threads: TranscriptThreads
  readonly table: TranscriptTable
  readonly bindings: StoreBindings
  readonly writes: ThreadWrites
}

export function createThreadReading({
  db,
  write,
  threads,
  table,
  bindings,
  writes,
}: ReadingDeps): Pick<TranscriptStore, 'read' | 'find'> {
  const readRange = createRangeReader(db, table)

  /** Adds the new entries of bound conversations before a reading. */
  async function catchUp(key: ThreadKey): Promise<TranscriptThread | undefined> {
    for (;;) {
      const [thread, hasNews] = await readAfterWait(db, () => {
        const thread = threads.find(key)
        return [thread, thread !== undefined && bindings.hasNews(thread.id)] as const
      })
      if (!hasNews) return thread
      await write(batch => void writes.takeNews(batch, key), { conflictKeys: () => [transcriptConflict(key)] })
    }
  }

  return {
    async read(key, range = {}) {
      const thread = await catchUp(key)
      return thread ? readAfterWait(db, () => readRange(thread.id, range)) : []
    },
    async find(key, entryIds) {
      const thread = await catchUp(key)
      if (!thread) return []
      const find = (id: string) => table.findByName(thread.id, nameEntry({ entry_id: id }))
      return readAfterWait(db, () => entryIds.map(find).filter(entry => entry !== undefined))
    },
  }
}
