import type { EntryBody, TranscriptEntry } from '@postern/transcript'
import { identifyEntry, isChatVisible, nameEntry, textOfContent } from '@postern/transcript'
import type { DeskNews } from './desk-binding.ts'
import type { TranscriptTable } from './entry-table.ts'
import type { TranscriptThread } from './thread-table.ts'

/** The last places that are given in a thread. */
export type Places = Pick<TranscriptThread, 'last_seq' | 'last_chat_seq'>

/** Ids of their writers may repeat in a session's list; our own do not. */
export function firstOfEachId(entries: readonly EntryBody[]): readonly EntryBody[] {
  const seen = new Set<string>()
  return entries.filter(({ entry_id }) => !seen.has(entry_id) && seen.add(entry_id))
}

export interface Placed {
  readonly asked: readonly TranscriptEntry[]
  readonly places: Places
}

export type PlacedThread = Pick<TranscriptThread, 'id'> & Places

/** A message that is there already stays as it is stored. */
export function appendMessages(
  table: TranscriptTable,
  thread: PlacedThread,
  messages: readonly (readonly EntryBody[])[],
): Placed {
  let places: Places = thread
  const asked = messages.flatMap(message => {
    const again = findAgain(table, thread.id, message)
    if (again) return again
    const placed = placeEntries(table, { id: thread.id, ...places }, message)
    places = placed.places
    for (const entry of placed.asked) table.addNames(thread.id, entry)
    return placed.asked
  })
  return { asked, places }
}

/** What was said at the desk, where the desk keeps it. */
export function placeNews(table: TranscriptTable, thread: PlacedThread, { said }: DeskNews): Places {
  let places: Places = thread
  for (const [seq, entries] of said) {
    for (const [piece, entry] of entries.entries()) {
      const placed = placeEntry(table, { id: thread.id, ...places }, entry, { seq, piece })
      table.addNames(thread.id, placed.entry)
      places = placed.places
    }
  }
  return places
}

export function placeEntries(table: TranscriptTable, thread: PlacedThread, entries: readonly EntryBody[]): Placed {
  let places: Places = thread
  const asked = entries.map(entry => {
    const known = table.findByName(thread.id, nameEntry(entry))
    if (known) return known
    const placed = placeEntry(table, { id: thread.id, ...places }, entry)
    places = placed.places
    return placed.entry
  })
  return { asked, places }
}

/** The next place of the thread, and of its chat where the entry is visible there. */
function placeEntry(
  table: TranscriptTable,
  { id, last_seq, last_chat_seq }: PlacedThread,
  entry: EntryBody,
  desk?: { readonly seq: number; readonly piece: number },
): { readonly entry: TranscriptEntry; readonly places: Places } {
  const isVisible = isChatVisible(entry, entry.kind === 'final' && repeatsLastAnswer(table, id, entry))
  const places = { last_seq: last_seq + 1, last_chat_seq: last_chat_seq + (isVisible ? 1 : 0) }
  const chat_seq = isVisible ? places.last_chat_seq : undefined
  return { entry: table.insert(id, entry, { seq: places.last_seq, chat_seq, desk }), places }
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
