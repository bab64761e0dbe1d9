import { createEntryRemoval } from '../conversations/entry-removal.ts'
import { readAfterWait } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import { createThreadRows } from '../forgetting/thread-rows.ts'

/** Rows looked through in one transaction, so that others get their turn. */
export const sliceSize = 5_000

/**
 * Threads without a message any more, with all names they were known by and what was brought into them from elsewhere. Of one that has
 * nothing but the message `except` only what the agent remembers of it goes.
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
    rows.endPlace(JSON.stringify([...left].filter(thread => thread !== kept)))
  }
  return async (threads, except) => {
    const left = new Set(threads)
    const last = (await readAfterWait(db, () => findLast.get()))?.number ?? 0
    for (let after = 0; after < last && left.size > 0; after += sliceSize) {
      await write(() => dropUsed(left, except, after, Math.min(after + sliceSize, last)))
    }
    if (left.size === 0) return
    await write(() => {
      // What has come in meanwhile stays.
      dropUsed(left, except, last, Number.MAX_SAFE_INTEGER)
      endAll(left, findThread.get(except)?.thread_id)
    })
  }
}
