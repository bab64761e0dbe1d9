import type { DatabaseSync } from 'node:sqlite'
import type { LookupDesk } from '@postern/core'
import { prepareQuery } from './database.ts'
import type { EntryRow } from './entries.ts'
import { entryColumns, readEntry } from './entries.ts'

/** Both ends of a thread by one index, however long it is. */
export function createHistoryLookup(db: DatabaseSync): Pick<LookupDesk, 'readHistory'> {
  const said = `SELECT ${entryColumns} FROM entries WHERE thread_id = ? AND scope = 'conversation'`
  const readHead = prepareQuery<EntryRow>(db, `${said} AND seq < ? ORDER BY seq LIMIT ?`)
  const readTail = prepareQuery<EntryRow>(db, `${said} AND seq < ? AND seq > ? ORDER BY seq DESC LIMIT ?`)
  return {
    async readHistory({ thread, before, head, tail }) {
      const first = head > 0 ? readHead.all(thread, before, head) : []
      const last = tail > 0 ? readTail.all(thread, before, first.at(-1)?.seq ?? 0, tail).reverse() : []
      return [...first, ...last].map(readEntry)
    },
  }
}
