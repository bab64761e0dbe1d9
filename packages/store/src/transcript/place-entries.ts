import type { EntryBody, TranscriptEntry } from '@postern/transcript'
import { identifyEntry, isChatVisible, nameEntry, textOfContent } from '@postern/transcript'
import type { TranscriptTable } from './entry-table.ts'
import type { ThreadExtent, ThreadNews, TranscriptThread } from './thread-table.ts'

/** Ids of their writers may repeat in a session's list; our own do not. */
export function firstOfEachId(entries: readonly EntryBody[]): readonly EntryBody[] {
  const seen = new Set<string>()
  return entries.filter(({ entry_id }) => !seen.has(entry_id) && seen.add(entry_id))
}

export interface Placed {
  readonly asked: readonly TranscriptEntry[]
  readonly extent: ThreadExtent
}

type PlacedThread = Pick<TranscriptThread, 'id'> & ThreadExtent

/** A message that is there already stays as it is stored. */
export function appendMessages(
  table: TranscriptTable,
  thread: PlacedThread,
  messages: readonly (readonly EntryBody[])[],
): Placed {
  let extent: ThreadExtent = thread
  const asked = messages.flatMap(message => {
    const again = findAgain(table, thread.id, message)
    if (again) return again
    const placed = placeEntries(table, { ...extent, id: thread.id }, message)
    extent = placed.extent
    for (const entry of placed.asked) table.addNames(thread.id, entry)
    return placed.asked
  })
  return { asked, extent }
}

/** What was said at the store, where the store keeps it. */
export function placeNews(table: TranscriptTable, thread: PlacedThread, { said }: ThreadNews): ThreadExtent {
  let extent: ThreadExtent = thread
  for (const [seq, entries] of said) {
    for (const [piece, entry] of entries.entries()) {
      const placed = placeEntry(table, { ...extent, id: thread.id }, entry, { seq, piece })
      table.addNames(thread.id, placed.entry)
      extent = placed.extent
    }
  }
  return extent
}

export function placeEntries(table: TranscriptTable, thread: PlacedThread, entries: readonly EntryBody[]): Placed {
  let extent: ThreadExtent = thread
  const asked = entries.map(entry => {
    const known = table.findByName(thread.id, nameEntry(entry))
    if (known) return known
    const placed = placeEntry(table, { ...extent, id: thread.id }, entry)
    extent = placed.extent
    return placed.entry
  })
  return { asked, extent }
}

/** The next place of the thread, and of its chat where the entry is visible there. */
function placeEntry(
  table: TranscriptTable,
  thread: PlacedThread,
  entry: EntryBody,
  store?: { readonly seq: number; readonly piece: number },
): { readonly entry: TranscriptEntry; readonly extent: ThreadExtent } {
  const { id } = thread
  const isVisible = isChatVisible(entry, entry.kind === 'final' && repeatsLastAnswer(table, id, entry))
  const [last_seq, last_chat_seq] = [thread.last_seq + 1, thread.last_chat_seq + (isVisible ? 1 : 0)]
  const chat_seq = isVisible ? last_chat_seq : undefined
  const inserted = table.insert(id, entry, { seq: last_seq, chat_seq, store })
  const [entries, bytes] = [thread.entries + (store ? 0 : 1), thread.bytes + inserted.bytes]
  return { entry: inserted.entry, extent: { last_seq, last_chat_seq, entries, bytes } }
}

/** The stored message whose writer gave it the same id in the same dialect. */
function findAgain(
  table: TranscriptTable,
  thread: number,
  [head]: readonly EntryBody[],
): readonly TranscriptEntry[] | undefined {
  if (!head) return undefined
  const [, ...nativeNames] = identifyEntry(head)
  const same = nativeNames.map(name => table.findByName(thread, name)).find(found => found !== undefined)
  if (!same || same.entry_id === head.entry_id) return undefined
  return same.group_id === undefined ? [same] : table.listGroup(thread, same.group_id)
}

function repeatsLastAnswer(table: TranscriptTable, thread: number, final: EntryBody): boolean {
  const last = table.findLastAnswer(thread)
  return last !== undefined && textOfContent(last.content) === textOfContent(final.content)
}
