// Numbers the entries of a thread in memory, and recognizes known messages.
import { type EntryBody, type TranscriptEntry, textOfContent } from './entry.ts'
import { isChatVisible } from './kind.ts'

/** Splits `entries` into runs with one group each, which are the entries of one foreign message. */
export function splitMessages<Entry extends EntryBody>(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  const runs: Entry[][] = []
  for (const entry of entries) {
    const lastRun = runs.at(-1)
    if (entry.group_id !== undefined && lastRun?.[0]?.group_id === entry.group_id) lastRun.push(entry)
    else runs.push([entry])
  }
  return runs
}

/** The entries of one thread in memory, with their names. Entries are only appended. */
export interface NumberedEntries {
  readonly entries: TranscriptEntry[]
  readonly entriesByName: Map<string, TranscriptEntry>
  readonly entriesByGroup: Map<string, TranscriptEntry[]>
  chatSeq: number
  /** The text of the assistant's last message. */
  lastAnswer: string | undefined
}

export function createNumberedEntries(): NumberedEntries {
  return { entries: [], entriesByName: new Map(), entriesByGroup: new Map(), chatSeq: 0, lastAnswer: undefined }
}

/**
 * Appends messages to a thread, each entry with its `seq`, and its `chat_seq` if it is visible. A known message (same `entry_id`, or same
 * `native_id` in its dialect) keeps its stored form. Returns each entry as it is stored now.
 */
export function appendNumbered(
  numbered: NumberedEntries,
  messages: readonly (readonly EntryBody[])[],
): readonly TranscriptEntry[] {
  return messages.flatMap(message => {
    const storedEntries = findMessage(numbered, message)
    if (storedEntries) return storedEntries
    const entries = message.map(entry => numbered.entriesByName.get(nameEntry(entry)) ?? appendEntry(numbered, entry))
    // The second name is added only now, so that entries of one message do not hide each other.
    for (const entry of entries) for (const name of identifyEntry(entry)) numbered.entriesByName.set(name, entry)
    return entries
  })
}

/** Numbers `entries` as a separate thread. Writers' ids may repeat in it, as in a session's list. */
export function numberEntries(entries: readonly EntryBody[]): readonly TranscriptEntry[] {
  return replaceEntries(entries).entries
}

export function replaceEntries(entries: readonly EntryBody[]): NumberedEntries {
  const numbered = createNumberedEntries()
  for (const entry of entries) if (!numbered.entriesByName.has(nameEntry(entry))) appendEntry(numbered, entry)
  for (const entry of numbered.entries) {
    for (const name of identifyEntry(entry))
      if (!numbered.entriesByName.has(name)) numbered.entriesByName.set(name, entry)
  }
  return numbered
}

/**
 * Lists the names of an entry within its thread: its id, and the writer's id in its dialect. Only the first entry of a message has the
 * second name.
 */
export function identifyEntry(entry: EntryBody): readonly string[] {
  const formats = entry.native_id === undefined ? [] : Object.keys(entry.ext ?? {})
  return [nameEntry(entry), ...formats.map(format => nameNative(format, entry.native_id ?? ''))]
}

/** Returns the name of an entry by the writer's id in a dialect. */
export function nameNative(format: string, native_id: string): string {
  return JSON.stringify([format, native_id])
}

export function nameEntry({ entry_id }: Pick<EntryBody, 'entry_id'>): string {
  return JSON.stringify([entry_id])
}

/** Finds the stored message with the same writer's id. */
function findMessage(numbered: NumberedEntries, [head]: readonly EntryBody[]): readonly TranscriptEntry[] | undefined {
  const [, ...nativeNames] = head ? identifyEntry(head) : []
  const storedEntry = nativeNames.map(name => numbered.entriesByName.get(name)).find(entry => entry !== undefined)
  if (!storedEntry || storedEntry.entry_id === head?.entry_id) return undefined
  return storedEntry.group_id === undefined ? [storedEntry] : numbered.entriesByGroup.get(storedEntry.group_id)
}

function appendEntry(numbered: NumberedEntries, entry: EntryBody): TranscriptEntry {
  const text = textOfContent(entry.content)
  const isVisible = isChatVisible(entry, entry.kind === 'final' && numbered.lastAnswer === text)
  if (isVisible) numbered.chatSeq += 1
  const { seq: _, chat_seq: __, ...body } = entry as TranscriptEntry
  const appendedEntry: TranscriptEntry = {
    ...body,
    seq: numbered.entries.length + 1,
    ...(isVisible && { chat_seq: numbered.chatSeq }),
  }
  if (isVisible && entry.role === 'assistant' && entry.kind === 'text') numbered.lastAnswer = text
  numbered.entries.push(appendedEntry)
  numbered.entriesByName.set(nameEntry(appendedEntry), appendedEntry)
  if (appendedEntry.group_id !== undefined) {
    numbered.entriesByGroup.set(appendedEntry.group_id, [
      ...(numbered.entriesByGroup.get(appendedEntry.group_id) ?? []),
      appendedEntry,
    ])
  }
  return appendedEntry
}
