// Inserts entries into a transcript thread at its next positions.
import type { EntryBody, TranscriptEntry } from '@postern/transcript'
import { identifyEntry, isChatVisible, nameEntry, textOfContent } from '@postern/transcript'
import type { Operation } from '../sql/operation.ts'
import { flatMapInOrder, mapInOrder } from '../sql/operation.ts'
import type { TranscriptEntryTable } from './entry-table.ts'
import type { NewEntries } from './store-bindings.ts'
import type { ThreadExtent, TranscriptThread } from './threads/transcript-thread-table.ts'

/** Removes entries that repeat an id. Other writers may repeat an id in the list of a session, but entries of the gateway have unique ids. */
export function dropRepeatedIds(entries: readonly EntryBody[]): readonly EntryBody[] {
  const seenIds = new Set<string>()
  return entries.filter(({ entry_id }) => {
    const isRepeated = seenIds.has(entry_id)
    seenIds.add(entry_id)
    return !isRepeated
  })
}

export interface InsertResult {
  readonly requestedEntries: readonly TranscriptEntry[]
  readonly extent: ThreadExtent
}

type ThreadWithExtent = Pick<TranscriptThread, 'id'> & ThreadExtent

/** Appends messages. A message that the thread already has is not changed. */
export function* appendMessages(
  table: TranscriptEntryTable,
  thread: ThreadWithExtent,
  messages: readonly (readonly EntryBody[])[],
): Operation<InsertResult> {
  let extent: ThreadExtent = thread
  const requestedEntries = yield* flatMapInOrder(messages, function* (message) {
    const existingEntries = yield* findExistingMessage(table, thread.id, message)
    if (existingEntries) return existingEntries
    const insertResult = yield* insertEntries(table, { ...extent, id: thread.id }, message)
    extent = insertResult.extent
    for (const entry of insertResult.requestedEntries) table.addNames(thread.id, entry)
    return insertResult.requestedEntries
  })
  return { requestedEntries, extent }
}

/** Inserts entries of bound conversations as references to the messages of the store. */
export function* insertNewEntries(
  table: TranscriptEntryTable,
  thread: ThreadWithExtent,
  { messages }: NewEntries,
): Operation<ThreadExtent> {
  let extent: ThreadExtent = thread
  for (const [seq, entries] of messages) {
    for (const [piece, entry] of entries.entries()) {
      const inserted = yield* insertEntry(table, { ...extent, id: thread.id }, entry, { seq, piece })
      table.addNames(thread.id, inserted.entry)
      extent = inserted.extent
    }
  }
  return extent
}

export function* insertEntries(
  table: TranscriptEntryTable,
  thread: ThreadWithExtent,
  entries: readonly EntryBody[],
): Operation<InsertResult> {
  let extent: ThreadExtent = thread
  const requestedEntries = yield* mapInOrder(entries, function* (entry) {
    const existingEntry = yield* table.findByName(thread.id, nameEntry(entry))
    if (existingEntry) return existingEntry
    const inserted = yield* insertEntry(table, { ...extent, id: thread.id }, entry)
    extent = inserted.extent
    return inserted.entry
  })
  return { requestedEntries, extent }
}

/** Inserts an entry at the next position of its thread. An entry that is visible in the chat also gets the next position in the chat. */
function* insertEntry(
  table: TranscriptEntryTable,
  thread: ThreadWithExtent,
  entry: EntryBody,
  store?: { readonly seq: number; readonly piece: number },
): Operation<{ readonly entry: TranscriptEntry; readonly extent: ThreadExtent }> {
  const { id } = thread
  const isVisible = isChatVisible(entry, entry.kind === 'final' && (yield* repeatsLastAnswer(table, id, entry)))
  const [last_seq, last_chat_seq] = [thread.last_seq + 1, thread.last_chat_seq + (isVisible ? 1 : 0)]
  const chat_seq = isVisible ? last_chat_seq : undefined
  const inserted = table.insert(id, entry, { seq: last_seq, chat_seq, store })
  const [entries, bytes] = [thread.entries + (store ? 0 : 1), thread.bytes + inserted.bytes]
  return { entry: inserted.entry, extent: { last_seq, last_chat_seq, entries, bytes } }
}

/** Finds the stored message with the same id of the writer in the same dialect. */
function* findExistingMessage(
  table: TranscriptEntryTable,
  thread: number,
  [head]: readonly EntryBody[],
): Operation<readonly TranscriptEntry[] | undefined> {
  if (!head) return undefined
  const [, ...nativeNames] = identifyEntry(head)
  const sameMessage = (yield* mapInOrder(nativeNames, name => table.findByName(thread, name))).find(
    entry => entry !== undefined,
  )
  if (!sameMessage || sameMessage.entry_id === head.entry_id) return undefined
  return sameMessage.group_id === undefined ? [sameMessage] : yield* table.listGroup(thread, sameMessage.group_id)
}

function* repeatsLastAnswer(table: TranscriptEntryTable, thread: number, finalEntry: EntryBody): Operation<boolean> {
  const lastAnswer = yield* table.findLastAnswer(thread)
  return lastAnswer !== undefined && textOfContent(lastAnswer.content) === textOfContent(finalEntry.content)
}
