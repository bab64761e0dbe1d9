// Deletes the threads of a person.
import { createThreadRows } from '../forgetting/remove-thread.ts'
import { readAfterWait } from '../sql/engine-defaults.ts'
import { createEntryRemoval } from '../threads/entry-removal.ts'
import type { Batch } from '../transaction/batch.ts'
import { runParts } from '../transaction/batch.ts'
import type { StoreContext } from '../transaction/store-context.ts'

/** The number of rows that one transaction reads, so that other writes run in between. */
export const sliceSize = 5_000

/**
 * Creates the deletion of threads without messages, with all their names and their background. Of a thread whose only message is `except`, it deletes
 * only what the agent remembers.
 */
export function createThreadRemoval({
  db,
  write,
}: StoreContext): (threads: readonly number[], except: number) => Promise<void> {
  const inList = '(SELECT CAST(value AS INTEGER) FROM json_each(?1))'
  const findUsed = db.prepare<{ thread_id: number }>(
    `SELECT thread_id FROM messages WHERE kind = 'message' AND seq > ?2 AND seq <= ?3 AND thread_id IN ${inList} AND seq <> ?4`,
  )
  const findLast = db.prepare<{ number: number | null }>('SELECT max(seq) AS number FROM messages')
  const findThread = db.prepare<{ thread_id: number }>('SELECT thread_id FROM messages WHERE seq = ?')
  const findBackground = db.prepare<{ seq: number }>(`SELECT seq FROM fetched_context WHERE thread_id IN ${inList}`)
  const deleteEntry = createEntryRemoval(db)
  const rows = createThreadRows(db)

  const dropThreadsInUse = (remainingThreads: Set<number>, except: number, after: number, upTo: number) => {
    for (const { thread_id } of findUsed.all(JSON.stringify([...remainingThreads]), after, upTo, except))
      remainingThreads.delete(thread_id)
  }
  function deleteRows(batch: Batch, unusedThreads: ReadonlySet<number>, keptThread: number | undefined): void {
    const threadList = JSON.stringify([...unusedThreads])
    runParts(batch, findBackground.all(threadList), (_, { seq }) => deleteEntry(seq))
    rows.deleteMemory(threadList)
    rows.removeNames(JSON.stringify([...unusedThreads].filter(thread => thread !== keptThread)))
  }
  return async (threads, except) => {
    const remainingThreads = new Set(threads)
    const last = (await readAfterWait(db, () => findLast.get()))?.number ?? 0
    for (let after = 0; after < last && remainingThreads.size > 0; after += sliceSize) {
      await write(() => dropThreadsInUse(remainingThreads, except, after, Math.min(after + sliceSize, last)))
    }
    if (remainingThreads.size === 0) return
    await write(batch => {
      // Threads with messages that have arrived in the meantime stay.
      dropThreadsInUse(remainingThreads, except, last, Number.MAX_SAFE_INTEGER)
      deleteRows(batch, remainingThreads, findThread.get(except)?.thread_id)
    })
  }
}
