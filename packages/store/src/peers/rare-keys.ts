// Caches all keys of a table that few messages match, so that most messages need no query for them.
import { runNow } from '../sql/operation.ts'
import type { WriterExclusivity } from '../sql/ownership.ts'
import type { Sql } from '../sql/sql.ts'

/** The maximum number of keys in memory. If the table has more, every key needs a query. */
const maxRareKeys = 100_000

/** The keys of blocks, withdrawals and the like, for which most messages search in vain. A search for a key that never existed needs no query. */
interface RareKeys {
  /** Adds a key that the current transaction writes. */
  add(columnValues: readonly string[]): void
  /** Returns false if the table does not have the key. If it returns true, the caller must query the table. */
  mayHave(columnValues: readonly string[]): boolean
}

/**
 * Loads the keys of a table. The cache never removes a key, so it stays correct if a transaction is undone.
 * @param selectKeys the query for all keys, with one column for each part
 */
export function loadRareKeys(db: Sql, selectKeys: string, { isSoleWriter }: WriterExclusivity): RareKeys {
  if (!isSoleWriter) return { add() {}, mayHave: () => true }
  const rows = runNow(db.prepare<Record<string, string>>(`${selectKeys} LIMIT ${maxRareKeys}`).all())
  const keys = new Set(rows.map(row => joinKey(Object.values(row))))
  return {
    add(parts) {
      if (keys.size < maxRareKeys) keys.add(joinKey(parts))
    },
    mayHave: parts => keys.size >= maxRareKeys || keys.has(joinKey(parts)),
  }
}

function joinKey(columnValues: readonly string[]): string {
  return columnValues.join('\n')
}
