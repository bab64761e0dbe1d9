// Presents a stored conversation to a swarm during one turn.
import type { NormalizedMessage } from '@postern/message'
import { createSpeakerLine, quoteSpeakerLines } from '@postern/pipeline'
import type { EntryBody, ThreadKey, TranscriptEntry, TranscriptStore } from '@postern/transcript'

/** The maximum number of past entries that a turn reads. */
const maxPastEntries = 400

/**
 * Presents a conversation of the store to the turn for `message`. It has the earlier entries, the message, and then the turn's rows. The store writes
 * these rows with the answer. Only the markers that cut the history are written at once.
 */
export function createTurnTranscript(
  transcript: TranscriptStore,
  { id, sender, merged = [] }: Pick<NormalizedMessage, 'id' | 'sender' | 'merged'>,
): TranscriptStore {
  /** The message contains the text of these earlier messages, so the turn answers them, too. */
  const mergedIds = new Set(merged.map(message => message.id))
  const turnEntries: TranscriptEntry[] = []
  const ownEntryIds = new Set<string>()

  function append(entries: readonly EntryBody[]): readonly TranscriptEntry[] {
    const numberedEntries = entries.map((entry, index) => ({
      ...entry,
      seq: Number.MAX_SAFE_INTEGER - 100_000 + turnEntries.length + index,
    }))
    turnEntries.push(...numberedEntries)
    for (const { entry_id } of entries) ownEntryIds.add(entry_id)
    return numberedEntries
  }

  const isMergedMessage = ({ native_id, role }: TranscriptEntry) =>
    role === 'user' && native_id !== undefined && mergedIds.has(native_id)

  async function readAll(thread: ThreadKey): Promise<readonly TranscriptEntry[]> {
    const storedEntries = await transcript.read(thread, { tail: maxPastEntries })
    const firstEntry = storedEntries.find(entry => entry.native_id === id && entry.role === 'user')
    const isStreamed = (entry: TranscriptEntry) =>
      entry === firstEntry || (firstEntry?.group_id !== undefined && entry.group_id === firstEntry.group_id)
    // A message that arrives during the turn is answered in the next turn.
    const isLater = ({ seq, role, kind }: TranscriptEntry) =>
      firstEntry !== undefined && seq > firstEntry.seq && role === 'user' && kind === 'text'
    const groups = new Set(storedEntries.filter(isMergedMessage).map(({ group_id, entry_id }) => group_id ?? entry_id))
    const isMerged = ({ group_id, entry_id }: TranscriptEntry) => groups.has(group_id ?? entry_id)
    const pastEntries = storedEntries.filter(
      entry => !ownEntryIds.has(entry.entry_id) && !isStreamed(entry) && !isLater(entry) && !isMerged(entry),
    )
    return [
      ...pastEntries.map(entry => nameWriter(entry, sender.address)),
      ...storedEntries.filter(isStreamed),
      ...turnEntries,
    ]
  }

  return {
    ...transcript,
    async append(thread, entries, request) {
      const markers = entries.filter(({ role }) => role === 'marker')
      if (markers.length > 0) await transcript.append(thread, markers, request)
      return append(entries)
    },
    async read(thread, { tail } = {}) {
      const allEntries = await readAll(thread)
      return tail === undefined ? allEntries : allEntries.slice(Math.max(0, allEntries.length - tail))
    },
  }
}

/** Adds the writer to messages of other people, so that they are not attributed to this user. */
function nameWriter(entry: TranscriptEntry, address: string): TranscriptEntry {
  const { role, kind, author, content } = entry
  const isOther = role === 'user' && kind === 'text' && author !== undefined && author.address !== address
  if (!isOther || !('parts' in content)) return entry
  return { ...entry, content: { parts: [createSpeakerLine(author.address), ...content.parts.map(quoteSpeakerLines)] } }
}
