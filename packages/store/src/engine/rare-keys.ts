import type { Database } from './database.ts'
import { prepareQuery } from './database.ts'

/** More of them are no longer rare. */
const most = 100_000

/** What most messages ask for and few find (a block, a withdrawal): who asks for what was never there is answered without a statement. */
interface RareKeys {
  /** To be called when it is written. */
  note(parts: readonly string[]): void
  /** False: it is not there. True: only the table knows. */
  mayHave(parts: readonly string[]): boolean
}

/** Whether this process alone writes the database: only then may it remember what is there. */
export interface Ownership {
  readonly isAlone: boolean
}

/**
 * Keys are only added, so that a transaction that is undone cannot make them wrong.
 * @param sql selects all of them, a column for each part
 */
export function loadRareKeys(db: Database, sql: string, { isAlone }: Ownership): RareKeys {
  if (!isAlone) return { note() {}, mayHave: () => true }
  const rows = prepareQuery<Record<string, string>>(db, `${sql} LIMIT ${most}`).all()
  const keys = new Set(rows.map(row => keyOf(Object.values(row))))
  return {
    note(parts) {
      if (keys.size < most) keys.add(keyOf(parts))
    },
    mayHave: parts => keys.size >= most || keys.has(keyOf(parts)),
  }
}

function keyOf(parts: readonly string[]): string {
  return parts.join('\n')
}
