// Reads notes of turns as entries of a transcript.
import { isoTime } from '@postern/message'
import type { EntryBody } from '@postern/transcript'
import { nameResult, nameTextMessage } from '@postern/transcript'
import { parseJson } from '../../sql/json-columns.ts'
import type { Operation } from '../../sql/operation.ts'
import type { Sql } from '../../sql/sql.ts'
import type { EntryPosition } from './entry-position.ts'

interface NoteRow {
  readonly seq: number
  readonly content: string
  readonly at: string
  readonly run_id: string | null
}

/** Reads the entries of the transcript that are notes of turns. The members are operations. */
interface StoreNotes {
  /** Reads the entries of a note. Returns undefined if the note was deleted or the row is no note. */
  read(seq: number, thread_id: string): Operation<readonly EntryBody[] | undefined>
  /** Lists the first notes of a conversation, from a position on, that the thread does not have yet. */
  listNew(storeThread: number, position: number, thread: number, limit: number): Operation<readonly EntryPosition[]>
}

export function createStoreNotes(db: Sql): StoreNotes {
  const find = db.prepare<NoteRow>(
    `SELECT e.seq, e.content, e.at, k.native_id AS run_id FROM messages e JOIN messages m ON m.seq = e.answers AND m.kind = 'message'
       LEFT JOIN tasks k ON k.id = m.task_id WHERE e.seq = ? AND e.scope = 'trace'`,
  )
  const listNew = db.prepare<EntryPosition>(
    `SELECT seq, answers AS position FROM messages WHERE scope = 'trace' AND thread_id = ?1 AND answers >= ?2
       AND NOT EXISTS (SELECT 1 FROM transcript_entries x WHERE x.thread = ?3 AND x.store_seq = messages.seq)
     ORDER BY answers, seq LIMIT +?4`,
  )
  return {
    *read(seq, thread_id) {
      const row = yield* find.get(seq)
      return row && splitText(writeNoteEntry(row, thread_id), readSplits(row))
    },
    listNew: (storeThread, position, thread, limit) => listNew.all(storeThread, position, thread, limit),
  }
}

function writeNoteEntry({ seq, content, at, run_id }: NoteRow, thread_id: string): EntryBody {
  const body = parseJson<Omit<EntryBody, 'entry_id' | 'thread_id' | 'at'>>(content)
  return {
    ...body,
    ...(body.kind === 'tool_result' && body.tool && { message_id: nameResult(body.tool.call_id) }),
    entry_id: `store-${seq}`,
    thread_id,
    at: isoTime(Date.parse(at)),
    ...(run_id !== null && { run_id }),
  }
}

/** Reads the indexes of parts at which an unfinished answer began another message. */
function readSplits({ content }: NoteRow): readonly number[] {
  return parseJson<{ readonly splits?: readonly number[] }>(content).splits ?? []
}

/** Splits an unfinished answer into the messages that clients of the stream have received. */
function splitText(entry: EntryBody, splits: readonly number[]): readonly EntryBody[] {
  const { splits: _, ...otherMembers } = entry as EntryBody & { readonly splits?: readonly number[] }
  const { content, entry_id, native_id, usage, ...sharedMembers } = otherMembers
  if (splits.length === 0 || !('parts' in content)) return [otherMembers]
  const { parts } = content
  return [0, ...splits].map((start, index) => ({
    ...sharedMembers,
    ...(index === 0 && usage !== undefined && { usage }),
    entry_id: index === 0 ? entry_id : `${entry_id}.${index}`,
    group_id: entry_id,
    ...(index === 0 && native_id !== undefined && { native_id }),
    ...(index > 0 && native_id !== undefined && { message_id: nameTextMessage(native_id, index + 1) }),
    content: { parts: parts.slice(start, splits[index] ?? parts.length) },
  }))
}

/** Merges two lists by position. Entries with the same position stay in the order of their arrival. */
export function mergeByPosition(
  messagePositions: readonly EntryPosition[],
  notePositions: readonly EntryPosition[],
): readonly EntryPosition[] {
  return notePositions.length === 0
    ? messagePositions
    : [...messagePositions, ...notePositions].toSorted((a, b) => a.position - b.position || a.seq - b.seq)
}
