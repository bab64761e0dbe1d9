// Deletes the threads of a person that have no messages any more.
import { createThreadRowRemoval } from '../forgetting/remove-thread.ts'
import type { Operation } from '../sql/operation.ts'
import { createEntryRemoval } from '../threads/entry-removal.ts'
import type { StoreContext } from '../transaction/store-context.ts'

/** The range of message numbers that one transaction reads, so that other writes can run in between. */
export const sliceSize = 5_000

interface MessageRange {
  readonly exceptMessage: number
  readonly after: number
  readonly upTo: number
}

/**
 * Creates the deletion of threads without messages, with their names and their background. If the only message of a thread is `exceptMessage`, the
 * deletion removes only the data that the agent stored for the thread.
 */
export function createUnusedThreadRemoval({
  db,
  write,
}: StoreContext): (threads: readonly number[], exceptMessage: number) => Promise<void> {
  const inList = '(SELECT CAST(value AS INTEGER) FROM json_each(?1))'
  const listUsed = db.prepare<{ thread_id: number }>(
    `SELECT thread_id FROM messages WHERE kind = 'message' AND seq > ?2 AND seq <= ?3 AND thread_id IN ${inList} AND seq <> ?4`,
  )
  const findLast = db.prepare<{ number: number | null }>('SELECT max(seq) AS number FROM messages')
  const findThread = db.prepare<{ thread_id: number }>('SELECT thread_id FROM messages WHERE seq = ?')
  const findBackground = db.prepare<{ seq: number }>(`SELECT seq FROM fetched_context WHERE thread_id IN ${inList}`)
  const deleteEntry = createEntryRemoval(db)
  const rows = createThreadRowRemoval(db)

  /** Removes the threads from the set that have another message than `exceptMessage` within this range of message numbers. */
  function* dropThreadsInUse(remainingThreads: Set<number>, { exceptMessage, after, upTo }: MessageRange) {
    for (const { thread_id } of yield* listUsed.all(JSON.stringify([...remainingThreads]), after, upTo, exceptMessage))
      remainingThreads.delete(thread_id)
  }

  function* deleteRows(unusedThreads: ReadonlySet<number>, keptThread: number | undefined): Operation<void> {
    const threadList = JSON.stringify([...unusedThreads])
    for (const { seq } of yield* findBackground.all(threadList)) yield* deleteEntry(seq)
    rows.deleteMemory(threadList)
    rows.deleteThreads(JSON.stringify([...unusedThreads].filter(thread => thread !== keptThread)))
  }
  return async (threads, exceptMessage) => {
    const remainingThreads = new Set(threads)
    const lastNumber = (await db.read(() => findLast.get()))?.number ?? 0
    for (let after = 0; after < lastNumber && remainingThreads.size > 0; after += sliceSize) {
      const upTo = Math.min(after + sliceSize, lastNumber)
      await write(() => dropThreadsInUse(remainingThreads, { exceptMessage, after, upTo }))
    }
    if (remainingThreads.size === 0) return
    await write(function* () {
      // A thread stays if a message has arrived in it in the meantime.
      yield* dropThreadsInUse(remainingThreads, { exceptMessage, after: lastNumber, upTo: Number.MAX_SAFE_INTEGER })
      yield* deleteRows(remainingThreads, (yield* findThread.get(exceptMessage))?.thread_id)
    })
  }
}
