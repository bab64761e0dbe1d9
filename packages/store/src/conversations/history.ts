import type { Entry, LookupStore, Part } from '@postern/core'
import { formatJson } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import type { RecalledRow } from './entries.ts'
import { readEntry, recalledColumns, recallRow, roleOf } from './entries.ts'
import { isOthersChat } from './person-words.ts'
import { saidToSome } from './private-answers.ts'

interface PlacedEntry extends RecalledRow {
  /** The message that this is or answers: the order of the conversation. */
  readonly position: number
  readonly is_private: 0 | 1
}

/** What the agent said to some only, in a thread that others read and write, too: an agent that is reminded of it might tell them. */
const isPrivate = `(e.kind = 'response' AND EXISTS (SELECT 1 FROM threads t WHERE t.id = e.thread_id AND ${saidToSome('e')}))`
const toPart = (content: string): Part => ({ kind: 'text', mime: 'text/plain', content })
const saidInPrivate = {
  assistant: toPart('[answered, not before everybody]'),
  user: toPart('[said in a chat, not before everybody]'),
}

/** Both ends of a thread by one index, however long it is. */
export function createHistoryLookup({
  db,
  channels,
}: Pick<StoreContext, 'db' | 'channels'>): Pick<LookupStore, 'readHistory'> {
  const place = 'coalesce(answers, seq)'
  const said = `SELECT ${recalledColumns}, ${place} AS position, ${isPrivate} OR ${isOthersChat('?3', channels)} AS is_private FROM messages e
    WHERE thread_id = ?1 AND scope = 'conversation' AND ${place} < ?2`
  const readHead = db.prepare<PlacedEntry>(`${said} ORDER BY ${place}, seq LIMIT +?4`)
  const readTail = db.prepare<PlacedEntry>(`${said} AND ${place} >= ?4 ORDER BY ${place} DESC, seq DESC LIMIT +?5`)
  return {
    async readHistory({ thread, before, head, tail, speakers = [] }) {
      const readers = formatJson(speakers)
      const first = head > 0 ? readHead.all(thread, before, readers, head) : []
      const isWhole = head > first.length
      const newest =
        tail > 0 && !isWhole ? readTail.all(thread, before, readers, first.at(-1)?.position ?? 0, tail) : []
      const seen = new Set(first.map(({ seq }) => seq))
      const last = newest.filter(({ seq }) => !seen.has(seq)).reverse()
      return [...first, ...last].map(recallEntry)
    },
  }
}

/** Without the words of what is not for who asks. */
export function recallEntry(row: RecalledRow & { readonly is_private: 0 | 1 }): Entry {
  return row.is_private === 1 ? { ...readEntry(row), parts: [saidInPrivate[roleOf(row.kind)]] } : recallRow(row)
}
