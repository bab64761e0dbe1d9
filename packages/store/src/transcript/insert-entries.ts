// Gives entries their positions in a transcript thread.
import type { EntryBody, TranscriptEntry } from '@postern/transcript'
import { identifyEntry, isChatVisible, nameEntry, textOfContent } from '@postern/transcript'
import type { TranscriptTable } from './entry-table.ts'
import type { ThreadNews } from './store-bindings.ts'
import type { ThreadExtent, TranscriptThread } from './threads/thread-table.ts'

/** Drops entries that repeat an id. Ids of other writers may repeat in a session's list; our own do not. */
export function firstOfEachId(entries: readonly EntryBody[]): readonly EntryBody[] {
  const seen = new Set<string>()
  return entries.filter(({ entry_id }) => !seen.has(entry_id) && seen.add(entry_id))
}

export interface AddedEntries {
  readonly asked: readonly TranscriptEntry[]
  readonly extent: ThreadExtent
}

type ThreadWithExtent = Pick<TranscriptThread, 'id'> & ThreadExtent

/** Appends messages. A message that the thread already has stays as it is stored. */
export function appendMessages(
  table: TranscriptTable,
  thread: ThreadWithExtent,
  messages: readonly (readonly EntryBody[])[],
): AddedEntries {
  let extent: ThreadExtent = thread
  const asked = messages.flatMap(message => {
    const again = findAgain(table, thread.id, message)
    if (again) return again
    const inserted = insertEntries(table, { ...extent, id: thread.id }, message)
    extent = inserted.extent
    for (const entry of inserted.asked) table.addNames(thread.id, entry)
    return inserted.asked
  })
  return { asked, extent }
}

/** Adds entries of bound conversations as references to the rows of the store. */
export function insertNews(table: TranscriptTable, thread: ThreadWithExtent, { said }: ThreadNews): ThreadExtent {
  let extent: ThreadExtent = thread
  for (const [seq, entries] of said) {
    for (const [piece, entry] of entries.entries()) {
      const inserted = insertEntry(table, { ...extent, id: thread.id }, entry, { seq, piece })
      table.addNames(thread.id, inserted.entry)
      extent = inserted.extent
    }
  }
  return extent
}

export function insertEntries(
  table: TranscriptTable,
  thread: ThreadWithExtent,
  entries: readonly EntryBody[],
): AddedEntries {
  let extent: ThreadExtent = thread
  const asked = entries.map(entry => {
    const existingEntry = table.findByName(thread.id, nameEntry(entry))
    if (existingEntry) return existingEntry
    const inserted = insertEntry(table, { ...extent, id: thread.id }, entry)
    extent = inserted.extent
    return inserted.entry
  })
  return { asked, extent }
}

/** Inserts an entry at the next position of its thread, and of the thread's chat if it is visible there. */
function insertEntry(
  table: TranscriptTable,
  thread: ThreadWithExtent,
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

/** Finds the stored message to which its writer gave the same id in the same dialect. */
function findAgain(
  table: TranscriptTable,
  thread: number,
  [head]: readonly EntryBody[],
): readonly TranscriptEntry[] | undefined {
  if (!head) return undefined
  const [, ...nativeNames] = identifyEntry(head)
  const same = nativeNames.map(name => table.findByName(thread, name)).find(entry => entry !== undefined)
  if (!same || same.entry_id === head.entry_id) return undefined
  return same.group_id === undefined ? [same] : table.listGroup(thread, same.group_id)
}

function repeatsLastAnswer(table: TranscriptTable, thread: number, final: EntryBody): boolean {
  const last = table.findLastAnswer(thread)
  return last !== undefined && textOfContent(last.content) === textOfContent(final.content)
}
