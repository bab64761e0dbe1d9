import { type EntryBody, type TranscriptEntry, textOfContent } from './entry.ts'
import { isChatVisible } from './kind.ts'

/** `entries` in runs of one group each: one run is what one foreign message became. */
export function splitMessages<Entry extends EntryBody>(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  const runs: Entry[][] = []
  for (const entry of entries) {
    const last = runs.at(-1)
    if (entry.group_id !== undefined && last?.[0]?.group_id === entry.group_id) last.push(entry)
    else runs.push([entry])
  }
  return runs
}

export interface PlacedEntries {
  readonly all: readonly TranscriptEntry[]
  /** One for each entry that was given: as it is stored now. */
  readonly asked: readonly TranscriptEntry[]
}

/**
 * Appends messages to what a thread has, each entry with its `seq`, and its `chat_seq` where it is visible. A message that is there
 * already (same `entry_id`, or same `native_id` in the dialect it came in) stays as it is stored. Pure.
 */
export function placeEntries(
  stored: readonly TranscriptEntry[],
  messages: readonly (readonly EntryBody[])[],
): PlacedEntries {
  const all = [...stored]
  const known = new Map(all.flatMap(entry => identifyEntry(entry).map(name => [name, entry] as const)))
  const asked = messages.flatMap(message => {
    const again = findMessage(message, known, all)
    if (again) return again
    return message.map(entry => {
      const stored = known.get(nameEntry(entry))
      if (stored) return stored
      const placed = placeEntry(all, entry)
      for (const name of identifyEntry(placed)) known.set(name, placed)
      return placed
    })
  })
  return { all, asked }
}

/** `entries` as a thread of their own; ids of their writers may repeat there, as they may in a session's list. */
export function numberEntries(entries: readonly EntryBody[]): readonly TranscriptEntry[] {
  const all: TranscriptEntry[] = []
  const known = new Set<string>()
  for (const entry of entries) {
    if (known.has(entry.entry_id)) continue
    known.add(entry.entry_id)
    placeEntry(all, entry)
  }
  return all
}

/**
 * By what an entry is known within its thread: its id, and the id its writer gave it in the dialect it came in. Only the first entry of
 * a message has that second name.
 */
export function identifyEntry(entry: EntryBody): readonly string[] {
  const formats = entry.native_id === undefined ? [] : Object.keys(entry.ext ?? {})
  return [nameEntry(entry), ...formats.map(format => JSON.stringify([format, entry.native_id]))]
}

function nameEntry({ entry_id }: EntryBody): string {
  return JSON.stringify([entry_id])
}

/** The stored message whose writer gave it the same id. */
function findMessage(
  [head]: readonly EntryBody[],
  known: ReadonlyMap<string, TranscriptEntry>,
  all: readonly TranscriptEntry[],
): readonly TranscriptEntry[] | undefined {
  const [, ...nativeNames] = head ? identifyEntry(head) : []
  const same = nativeNames.map(name => known.get(name)).find(found => found !== undefined)
  if (!same || same.entry_id === head?.entry_id) return undefined
  return same.group_id === undefined ? [same] : all.filter(({ group_id }) => group_id === same.group_id)
}

function placeEntry(all: TranscriptEntry[], entry: EntryBody): TranscriptEntry {
  const isVisible = isChatVisible(entry, entry.kind === 'final' && repeatsAnswer(all, entry))
  const chat_seq = (all.findLast(({ chat_seq }) => chat_seq !== undefined)?.chat_seq ?? 0) + 1
  const { seq: _, chat_seq: __, ...body } = entry as TranscriptEntry
  const placed: TranscriptEntry = { ...body, seq: all.length + 1, ...(isVisible && { chat_seq }) }
  all.push(placed)
  return placed
}

function repeatsAnswer(entries: readonly TranscriptEntry[], final: EntryBody): boolean {
  const last = entries.findLast(
    ({ role, kind, chat_seq }) => chat_seq !== undefined && role === 'assistant' && kind === 'text',
  )
  return last !== undefined && textOfContent(last.content) === textOfContent(final.content)
}
