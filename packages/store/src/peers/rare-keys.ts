// Remembers which rare keys exist, so that most messages ask no table about them.
import type { WriterExclusivity } from '../sql/ownership.ts'
import type { Sql } from '../sql/sql.ts'

/** The maximum number of keys in memory. If there are more, the table is asked for every key. */
const maxRareKeys = 100_000

/** Keys that most messages look up and few find, such as blocks and withdrawals. The lookup of a key that never existed costs no statement. */
interface RareKeys {
  /** Adds a key that is being written. */
  note(columnValues: readonly string[]): void
  /** Returns false for a key that is not in the table. True means that only the table knows. */
  mayHave(columnValues: readonly string[]): boolean
}

/**
 * Loads the keys of a table. Keys are only added, so a transaction that is undone cannot make them wrong.
 * @param sql selects all keys, with one column for each part
 */
export function loadRareKeys(db: Sql, sql: string, { isSoleWriter }: WriterExclusivity): RareKeys {
  if (!isSoleWriter) return { note() {}, mayHave: () => true }
  const rows = db.prepare<Record<string, string>>(`${sql} LIMIT ${maxRareKeys}`).all()
  const keys = new Set(rows.map(row => keyOf(Object.values(row))))
  return {
    note(parts) {
      if (keys.size < maxRareKeys) keys.add(keyOf(parts))
    },
    mayHave: parts => keys.size >= maxRareKeys || keys.has(keyOf(parts)),
  }
}

function keyOf(columnValues: readonly string[]): string {
  return columnValues.join('\n')
}
