// Deletes threads with their names and with the data that agents stored for them.
import type { Sql } from '../sql/sql.ts'

/**
 * Deletes the rows of threads, but neither messages nor entries. `threads` is a JSON list of thread numbers. The statements read whole tables and belong
 * to a write.
 */
interface ThreadRowRemoval {
  /** Deletes the data that agents stored for the threads. */
  deleteMemory(threads: string): void
  /** Deletes the threads with their names. */
  deleteThreads(threads: string): void
}

export function createThreadRowRemoval(db: Sql): ThreadRowRemoval {
  const inList = 'IN (SELECT CAST(value AS INTEGER) FROM json_each(?))'
  const prepareDeletions = (tables: readonly string[]) =>
    tables.map(table => db.prepare(`DELETE FROM ${table} WHERE thread_id ${inList}`))
  const memoryDeletions = prepareDeletions(['fetched_context', 'agent_states'])
  // Shards of a count add up to zero if one gateway wrote the records and another one deleted them. Their rows still name the owner.
  const deleteZeroTotals = db.prepare(
    `DELETE FROM kept_data WHERE owner IN
       (SELECT owner FROM kept_data GROUP BY owner HAVING sum(records) = 0 AND sum(bytes) = 0)`,
  )
  const nameDeletions = [
    // These rows stay as long as their thread, because the turns of machines in it must still count.
    ...prepareDeletions(['turn_quotas', 'thread_aliases']),
    // Another thread may get the number, so the state is deleted, too.
    db.prepare(`DELETE FROM transcript_bindings WHERE store_thread ${inList}`),
    db.prepare(`DELETE FROM threads WHERE id ${inList}`),
  ]
  return {
    deleteMemory(threads) {
      for (const deletion of memoryDeletions) deletion.run(threads)
      deleteZeroTotals.run()
    },
    deleteThreads(threads) {
      for (const deletion of nameDeletions) deletion.run(threads)
    },
  }
}
