// Deletes threads with their names.
import type { Sql } from '../sql/sql.ts'

/**
 * Prepared deletions of rows that depend on threads, beside messages and entries. `threads`: a JSON list. They read whole tables and run
 * synchronously, inside a write.
 */
interface ThreadRows {
  /** Deletes everything that agents remember of the threads. */
  deleteMemory(threads: string): void
  /** Deletes the threads themselves, with the names by which they were known. */
  removeNames(threads: string): void
}

export function createThreadRows(db: Sql): ThreadRows {
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
    // The turns of machines in a thread that stays still count.
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
    removeNames(threads) {
      for (const deletion of nameDeletions) deletion.run(threads)
    },
  }
}
