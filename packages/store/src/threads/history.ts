// Reads the history of a thread.
import type { Part } from '@postern/message'
import type { Entry, LookupStore } from '@postern/pipeline'
import { formatJson } from '../sql/json-columns.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import type { RecalledRow } from './entries.ts'
import { getRole, readEntry, recalledColumns, recallRow } from './entries.ts'
import { othersChatCondition } from './person-messages.ts'
import { privateAnswerCondition } from './private-answers.ts'

interface PositionedEntry extends RecalledRow {
  /** The number of the message that this entry is or answers. It determines the order of the conversation. */
  readonly position: number
  readonly is_private: 0 | 1
}

/** The condition that an entry is a private answer in a public thread. An agent that sees such an answer might tell it to other people. */
const privateCondition = `(e.kind = 'response' AND EXISTS (SELECT 1 FROM threads t WHERE t.id = e.thread_id AND ${privateAnswerCondition('e')}))`
const toPart = (content: string): Part => ({ kind: 'text', mime: 'text/plain', content })
const privatePlaceholders = {
  assistant: toPart('[answered, not before everybody]'),
  user: toPart('[said in a chat, not before everybody]'),
}

/** Creates the query for the history of a thread. One index finds both ends of a thread of any length. */
export function createHistoryLookup({
  db,
  channels,
}: Pick<StoreContext, 'db' | 'channels'>): Pick<LookupStore, 'readHistory'> {
  const position = 'coalesce(answers, seq)'
  const selectEntries = `SELECT ${recalledColumns}, ${position} AS position, ${privateCondition} OR ${othersChatCondition('?3', channels)} AS is_private FROM messages e
    WHERE thread_id = ?1 AND scope = 'conversation' AND ${position} < ?2`
  const readHead = db.prepare<PositionedEntry>(`${selectEntries} ORDER BY ${position}, seq LIMIT +?4`)
  const readTail = db.prepare<PositionedEntry>(
    `${selectEntries} AND ${position} >= ?4 ORDER BY ${position} DESC, seq DESC LIMIT +?5`,
  )
  return {
    readHistory({ thread, beforeMessage: before, head, tail, speakers = [] }) {
      return db.read(function* () {
        const readers = formatJson(speakers)
        const headRows = head > 0 ? yield* readHead.all(thread, before, readers, head) : []
        const isWhole = head > headRows.length
        const newestRows =
          tail > 0 && !isWhole ? yield* readTail.all(thread, before, readers, headRows.at(-1)?.position ?? 0, tail) : []
        const headSeqs = new Set(headRows.map(({ seq }) => seq))
        const tailRows = newestRows.filter(({ seq }) => !headSeqs.has(seq)).reverse()
        return [...headRows, ...tailRows].map(recallEntry)
      })
    },
  }
}

/** Reads an entry, and replaces its content by a placeholder if the entry is not for the reader. */
export function recallEntry(row: RecalledRow & { readonly is_private: 0 | 1 }): Entry {
  return row.is_private === 1 ? { ...readEntry(row), parts: [privatePlaceholders[getRole(row.kind)]] } : recallRow(row)
}
