import type { Sql } from '../engine/database.ts'

/** What hangs on threads beside messages and entries; `threads`: a JSON list. Reads whole tables. Synchronous: inside a write. */
interface ThreadRows {
  /** What agents remember of them. */
  endMemory(threads: string): void
  /** They themselves, with the names they were known by. */
  endPlace(threads: string): void
}

export function createThreadRows(db: Sql): ThreadRows {
  const inList = 'IN (SELECT CAST(value AS INTEGER) FROM json_each(?))'
  const prepareEnds = (tables: readonly string[]) =>
    tables.map(table => db.prepare(`DELETE FROM ${table} WHERE thread_id ${inList}`))
  const memory = prepareEnds(['fetched_context', 'agent_states', 'turn_quotas'])
  // What one gateway has written and another one takes out adds up to nothing, and still names its owner.
  const endKept = db.prepare(
    `DELETE FROM kept_data WHERE owner IN
       (SELECT owner FROM kept_data GROUP BY owner HAVING sum(records) = 0 AND sum(bytes) = 0)`,
  )
  const place = [
    ...prepareEnds(['thread_aliases']),
    // The number of a thread may be given again.
    db.prepare(`DELETE FROM transcript_bindings WHERE store_thread ${inList}`),
    db.prepare(`DELETE FROM threads WHERE id ${inList}`),
  ]
  return {
    endMemory(threads) {
      for (const end of memory) end.run(threads)
      endKept.run()
    },
    endPlace(threads) {
      for (const end of place) end.run(threads)
    },
  }
}
