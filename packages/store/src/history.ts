import type { Entry, LookupDesk, Part } from '@postern/core'
import type { Database } from './database.ts'
import { prepareQuery } from './database.ts'
import type { EntryRow } from './entries.ts'
import { readEntry, recalledColumns } from './entries.ts'

interface PlacedEntry extends EntryRow {
  /** The message that this is or answers: the order of the conversation. */
  readonly place: number
  readonly is_private: 0 | 1
}

/** What the agent said to some only, in a thread that others read and write, too: an agent that is reminded of it might tell them. */
const isPrivate = `EXISTS (SELECT 1 FROM responses r JOIN threads t ON t.id = entries.thread_id WHERE r.seq = entries.seq
  AND t.scope = 'public' AND json_extract(r.envelope, '$.visibility') IN ('followers', 'direct'))`
const saidInPrivate: Part = { kind: 'text', mime: 'text/plain', content: '[answered, not before everybody]' }

/** Both ends of a thread by one index, however long it is. */
export function createHistoryLookup(db: Database): Pick<LookupDesk, 'readHistory'> {
  const place = 'coalesce(answers, seq)'
  const said = `SELECT ${recalledColumns}, ${place} AS place, ${isPrivate} AS is_private FROM entries
    WHERE thread_id = ? AND scope = 'conversation' AND ${place} < ?`
  const readHead = prepareQuery<PlacedEntry>(db, `${said} ORDER BY ${place}, seq LIMIT +?`)
  const readTail = prepareQuery<PlacedEntry>(db, `${said} AND ${place} >= ? ORDER BY ${place} DESC, seq DESC LIMIT +?`)
  return {
    async readHistory({ thread, before, head, tail }) {
      const first = head > 0 ? readHead.all(thread, before, head) : []
      const isWhole = head > first.length
      const newest = tail > 0 && !isWhole ? readTail.all(thread, before, first.at(-1)?.place ?? 0, tail) : []
      const seen = new Set(first.map(({ seq }) => seq))
      const last = newest.filter(({ seq }) => !seen.has(seq)).reverse()
      return [...first, ...last].map(recallEntry)
    },
  }
}

function recallEntry(row: PlacedEntry): Entry {
  const entry = readEntry(row)
  return row.is_private === 1 ? { ...entry, parts: [saidInPrivate] } : entry
}
