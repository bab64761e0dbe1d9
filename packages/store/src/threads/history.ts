// Reads the history of a thread.
import type { Part } from '@postern/message'
import type { Entry, LookupStore } from '@postern/pipeline'
import { formatJson } from '../sql/json-columns.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { RecalledRow } from './entries.ts'
import { readEntry, recalledColumns, recallRow, roleOf } from './entries.ts'
import { isOthersChat } from './person-messages.ts'
import { isPrivateAnswer } from './private-answers.ts'

interface PositionedEntry extends RecalledRow {
  /** The number of the message that this entry is or answers. It gives the order of the conversation. */
  readonly position: number
  readonly is_private: 0 | 1
}

/** The condition of private answers in a shared thread. An agent that recalls them might tell others. */
const isPrivate = `(e.kind = 'response' AND EXISTS (SELECT 1 FROM threads t WHERE t.id = e.thread_id AND ${isPrivateAnswer('e')}))`
const toPart = (content: string): Part => ({ kind: 'text', mime: 'text/plain', content })
const privatePlaceholders = {
  assistant: toPart('[answered, not before everybody]'),
  user: toPart('[said in a chat, not before everybody]'),
}

/** Creates the history of threads. One index gives both ends of a thread, however long it is. */
export function createHistoryLookup({
  db,
  channels,
}: Pick<StoreContext, 'db' | 'channels'>): Pick<LookupStore, 'readHistory'> {
  const position = 'coalesce(answers, seq)'
  const selectEntries = `SELECT ${recalledColumns}, ${position} AS position, ${isPrivate} OR ${isOthersChat('?3', channels)} AS is_private FROM messages e
    WHERE thread_id = ?1 AND scope = 'conversation' AND ${position} < ?2`
  const readHead = db.prepare<PositionedEntry>(`${selectEntries} ORDER BY ${position}, seq LIMIT +?4`)
  const readTail = db.prepare<PositionedEntry>(
    `${selectEntries} AND ${position} >= ?4 ORDER BY ${position} DESC, seq DESC LIMIT +?5`,
  )
  return {
    async readHistory({ thread, before, head, tail, speakers = [] }) {
      const readers = formatJson(speakers)
      const headRows = head > 0 ? readHead.all(thread, before, readers, head) : []
      const isWhole = head > headRows.length
      const newest =
        tail > 0 && !isWhole ? readTail.all(thread, before, readers, headRows.at(-1)?.position ?? 0, tail) : []
      const headSeqs = new Set(headRows.map(({ seq }) => seq))
      const tailRows = newest.filter(({ seq }) => !headSeqs.has(seq)).reverse()
      return [...headRows, ...tailRows].map(recallEntry)
    },
  }
}

/** Drops the content of entries that are not for the reader. */
export function recallEntry(row: RecalledRow & { readonly is_private: 0 | 1 }): Entry {
  return row.is_private === 1 ? { ...readEntry(row), parts: [privatePlaceholders[roleOf(row.kind)]] } : recallRow(row)
}
