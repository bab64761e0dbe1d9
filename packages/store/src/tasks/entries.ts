import type { Entry } from '@postern/core'
import type { EntryRow } from '../conversations/entries.ts'
import { entryColumns, readEntry } from '../conversations/entries.ts'
import type { Database } from '../engine/database.ts'
import { prepareQuery } from '../engine/database.ts'

/** Entries of one task at most. */
const maxEntries = 1_000

/**
 * What was said in a task, oldest first. A task may be continued without end, so only its newest entries are read: as many
 * as stay within `maxBytes`, and the last one however large it is.
 */
export function createTaskEntryReader(db: Database): (task: number, maxBytes: number) => readonly Entry[] {
  const findFirst = createFirstEntryFinder(db)
  const read = prepareQuery<EntryRow>(
    db,
    `SELECT ${entryColumns} FROM messages WHERE task_id = ? AND seq >= ? ORDER BY seq`,
  )
  return (task, maxBytes) => read.all(task, findFirst(task, maxBytes)).map(readEntry)
}

/** The oldest of a task's newest entries that stay within `maxBytes`, by its seq. */
export function createFirstEntryFinder(db: Database): (task: number, maxBytes: number) => number {
  const findFirst = prepareQuery<{ first: number | null }>(
    db,
    `SELECT min(seq) AS first FROM (
       SELECT seq, sum(size) OVER (ORDER BY seq DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - size AS newer, size
       FROM (SELECT seq, octet_length(content) AS size FROM messages WHERE task_id = ? ORDER BY seq DESC LIMIT ${maxEntries}))
     WHERE newer = 0 OR newer + size <= ?`,
  )
  return (task, maxBytes) => findFirst.get(task, maxBytes)?.first ?? 0
}
