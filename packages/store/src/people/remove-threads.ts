// Deletes the threads of a person.
import { createThreadRows } from '../forgetting/remove-thread.ts'
import { readAfterWait } from '../sql/engine-defaults.ts'
import { createEntryRemoval } from '../threads/entry-removal.ts'
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
  const endEntry = createEntryRemoval(db)
  const rows = createThreadRows(db)

  const dropUsed = (left: Set<number>, except: number, after: number, until: number) => {
    for (const { thread_id } of findUsed.all(JSON.stringify([...left]), after, until, except)) left.delete(thread_id)
  }
  function endAll(left: ReadonlySet<number>, kept: number | undefined): void {
    const ended = JSON.stringify([...left])
    for (const { seq } of findBackground.all(ended)) endEntry(seq)
    rows.endMemory(ended)
    rows.removeNames(JSON.stringify([...left].filter(thread => thread !== kept)))
  }
  return async (threads, except) => {
    const left = new Set(threads)
    const last = (await readAfterWait(db, () => findLast.get()))?.number ?? 0
    for (let after = 0; after < last && left.size > 0; after += sliceSize) {
      await write(() => dropUsed(left, except, after, Math.min(after + sliceSize, last)))
    }
    if (left.size === 0) return
    await write(() => {
      // Threads with messages that have arrived in the meantime stay.
      dropUsed(left, except, last, Number.MAX_SAFE_INTEGER)
      endAll(left, findThread.get(except)?.thread_id)
    })
  }
}
