import { isoTime } from '@postern/core'
import type { EntryBody } from '@postern/transcript'
import type { Sql } from '../../engine/database.ts'
import { parseJson } from '../../engine/database.ts'
import type { SaidPlace } from './place.ts'

interface NoteRow {
  readonly seq: number
  readonly content: string
  readonly at: string
  readonly run_id: string | null
}

/** What agents noted of their turns, as entries of the transcript. Synchronous. */
interface StoreNotes {
  /** Undefined for what is no note, or is gone. */
  read(seq: number, thread_id: string): readonly EntryBody[] | undefined
  /** In a conversation, from a place on: the first of those that the thread does not have yet. */
  listNew(storeThread: number, place: number, thread: number, most: number): readonly SaidPlace[]
}

export function createStoreNotes(db: Sql): StoreNotes {
  const find = db.prepare<NoteRow>(
    `SELECT e.seq, e.content, e.at, k.native_id AS run_id FROM messages e JOIN messages m ON m.seq = e.answers AND m.kind = 'message'
       LEFT JOIN tasks k ON k.id = m.task_id WHERE e.seq = ? AND e.scope = 'trace'`,
  )
  const listNew = db.prepare<SaidPlace>(
    `SELECT seq, answers AS position FROM messages WHERE scope = 'trace' AND thread_id = ?1 AND answers >= ?2
       AND NOT EXISTS (SELECT 1 FROM transcript_entries x WHERE x.thread = ?3 AND x.store_seq = messages.seq)
     ORDER BY answers, seq LIMIT +?4`,
  )
  return {
    read(seq, thread_id) {
      const row = find.get(seq)
      return row && [writeNoteEntry(row, thread_id)]
    },
    listNew: (storeThread, place, thread, most) => listNew.all(storeThread, place, thread, most),
  }
}

function writeNoteEntry({ seq, content, at, run_id }: NoteRow, thread_id: string): EntryBody {
  const body = parseJson<Omit<EntryBody, 'entry_id' | 'thread_id' | 'at'>>(content)
  return {
    ...body,
    entry_id: `store-${seq}`,
    thread_id,
    at: isoTime(Date.parse(at)),
    ...(run_id !== null && { run_id }),
  }
}

/** Both in order of their places; of one place in the order in which the store was told. */
export function mergePlaces(said: readonly SaidPlace[], noted: readonly SaidPlace[]): readonly SaidPlace[] {
  return noted.length === 0 ? said : [...said, ...noted].toSorted((a, b) => a.position - b.position || a.seq - b.seq)
}
