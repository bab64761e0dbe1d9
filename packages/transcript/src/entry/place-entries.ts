import { type EntryBody, type TranscriptEntry, textOfContent } from './entry.ts'
import { isChatVisible } from './kind.ts'

/** `entries` in runs of one group each: the entries of one foreign message. */
export function splitMessages<Entry extends EntryBody>(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  const runs: Entry[][] = []
  for (const entry of entries) {
    const last = runs.at(-1)
    if (entry.group_id !== undefined && last?.[0]?.group_id === entry.group_id) last.push(entry)
    else runs.push([entry])
  }
  return runs
}

/** The entries of one thread in memory, with their names. It grows by appending alone. */
export interface PlacedEntries {
  readonly all: TranscriptEntry[]
  readonly known: Map<string, TranscriptEntry>
  readonly groups: Map<string, TranscriptEntry[]>
  chatSeq: number
  /** The assistant's last message. */
  lastAnswer: string | undefined
}

export function createPlacedEntries(): PlacedEntries {
  return { all: [], known: new Map(), groups: new Map(), chatSeq: 0, lastAnswer: undefined }
}

/**
 * Appends messages to a thread, each entry with its `seq`, and its `chat_seq` if it is visible. A known message (same `entry_id`, or same
 * `native_id` in its dialect) keeps its stored form. Returns each entry as it is stored now.
 */
export function placeMessages(
  placed: PlacedEntries,
  messages: readonly (readonly EntryBody[])[],
): readonly TranscriptEntry[] {
  return messages.flatMap(message => {
    const again = findMessage(placed, message)
    if (again) return again
    const entries = message.map(entry => placed.known.get(nameEntry(entry)) ?? placeEntry(placed, entry))
    // The second name only now, so that entries of one message do not hide each other.
    for (const entry of entries) for (const name of identifyEntry(entry)) placed.known.set(name, entry)
    return entries
  })
}

/** `entries` as a thread of their own. Writers' ids may repeat there, as in a session's list. */
export function numberEntries(entries: readonly EntryBody[]): readonly TranscriptEntry[] {
  return replaceEntries(entries).all
}

export function replaceEntries(entries: readonly EntryBody[]): PlacedEntries {
  const placed = createPlacedEntries()
  for (const entry of entries) if (!placed.known.has(nameEntry(entry))) placeEntry(placed, entry)
  for (const entry of placed.all) {
    for (const name of identifyEntry(entry)) if (!placed.known.has(name)) placed.known.set(name, entry)
  }
  return placed
}

/**
 * The names of an entry within its thread: its id, and the writer's id in its dialect. Only the first entry of a message has that second
 * name.
 */
export function identifyEntry(entry: EntryBody): readonly string[] {
  const formats = entry.native_id === undefined ? [] : Object.keys(entry.ext ?? {})
  return [nameEntry(entry), ...formats.map(format => nameNative(format, entry.native_id ?? ''))]
}

/** The writer's id in a dialect. */
export function nameNative(format: string, native_id: string): string {
  return JSON.stringify([format, native_id])
}

export function nameEntry({ entry_id }: Pick<EntryBody, 'entry_id'>): string {
  return JSON.stringify([entry_id])
}

/** The stored message with the same writer's id. */
function findMessage(placed: PlacedEntries, [head]: readonly EntryBody[]): readonly TranscriptEntry[] | undefined {
  const [, ...nativeNames] = head ? identifyEntry(head) : []
  const same = nativeNames.map(name => placed.known.get(name)).find(found => found !== undefined)
  if (!same || same.entry_id === head?.entry_id) return undefined
  return same.group_id === undefined ? [same] : placed.groups.get(same.group_id)
}

function placeEntry(placed: PlacedEntries, entry: EntryBody): TranscriptEntry {
  const text = textOfContent(entry.content)
  const isVisible = isChatVisible(entry, entry.kind === 'final' && placed.lastAnswer === text)
  if (isVisible) placed.chatSeq += 1
  const { seq: _, chat_seq: __, ...body } = entry as TranscriptEntry
  const whole: TranscriptEntry = { ...body, seq: placed.all.length + 1, ...(isVisible && { chat_seq: placed.chatSeq }) }
  if (isVisible && entry.role === 'assistant' && entry.kind === 'text') placed.lastAnswer = text
  placed.all.push(whole)
  placed.known.set(nameEntry(whole), whole)
  if (whole.group_id !== undefined) {
    placed.groups.set(whole.group_id, [...(placed.groups.get(whole.group_id) ?? []), whole])
  }
  return whole
}
