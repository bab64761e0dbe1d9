import type { EntryBody, TranscriptEntry } from '@postern/transcript'
import { contentOfText, identifyEntry, nameEntry } from '@postern/transcript'
import type { Database } from '../database.ts'
import { formatJson, parseJson, prepareQuery } from '../database.ts'
import type { DeskEntries } from './desk-entries.ts'

export interface EntryPlaces {
  readonly seq: number
  readonly chat_seq: number | undefined
  /** Where the desk has it, for what is not written again. */
  readonly desk?: { readonly seq: number; readonly piece: number } | undefined
}

/** The entries of threads. Synchronous: what writes runs inside a write. */
export interface TranscriptTable {
  insert(thread: number, entry: EntryBody, places: EntryPlaces): TranscriptEntry
  /** Its writer's names lead to this entry from now on; with `isFirst`, unless they lead to one already. */
  addNames(thread: number, entry: TranscriptEntry, isFirst?: boolean): void
  /** By one of the names that `identifyEntry` gives. */
  findByName(thread: number, name: string): TranscriptEntry | undefined
  /** All entries that one foreign message became. */
  listGroup(thread: number, group: string): readonly TranscriptEntry[]
  /** The last answer that is visible in the chat. */
  findLastAnswer(thread: number): TranscriptEntry | undefined
  /** Rows of one thread as its entries; what the desk has forgotten is left out. */
  readRows(rows: readonly TranscriptRow[]): readonly TranscriptEntry[]
  clear(thread: number): void
}

export interface TranscriptRow {
  readonly seq: number
  readonly chat_seq: number | null
  readonly body: string | null
  readonly desk_seq: number | null
  readonly piece: number | null
  readonly role: TranscriptEntry['role']
  readonly thread_id: string
}

/** Of `transcript_entries e`. */
export const transcriptColumns = `e.seq, e.chat_seq, e.body, e.desk_seq, e.piece, e.role,
  (SELECT t.thread_id FROM transcript_threads t WHERE t.id = e.thread) AS thread_id`

export function createTranscriptTable(db: Database, said: DeskEntries): TranscriptTable {
  const insert = prepareQuery(
    db,
    `INSERT INTO transcript_entries
       (thread, seq, chat_seq, entry_id, scope, kind, role, agent_key, group_id, body, desk_seq, piece)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const intoNames = 'INTO transcript_names (thread, name, seq) VALUES (?, ?, ?)'
  const name = prepareQuery(db, `INSERT ${intoNames} ON CONFLICT (thread, name) DO UPDATE SET seq = excluded.seq`)
  const nameFirst = prepareQuery(db, `INSERT OR IGNORE ${intoNames}`)
  const select = `SELECT ${transcriptColumns} FROM transcript_entries e WHERE e.thread = ?`
  const findByName = prepareQuery<TranscriptRow>(
    db,
    `${select} AND e.seq = (SELECT seq FROM transcript_names WHERE thread = ? AND name = ?)`,
  )
  const listGroup = prepareQuery<TranscriptRow>(db, `${select} AND e.group_id = ? ORDER BY e.seq`)
  const findLastAnswer = prepareQuery<TranscriptRow>(
    db,
    `${select} AND e.chat_seq IS NOT NULL AND e.role = 'assistant' AND e.kind = 'text' ORDER BY e.chat_seq DESC LIMIT 1`,
  )
  const clearEntries = prepareQuery(db, 'DELETE FROM transcript_entries WHERE thread = ?')
  const clearNames = prepareQuery(db, 'DELETE FROM transcript_names WHERE thread = ?')
  const readRow = createRowReader(said)
  const readOne = (row: TranscriptRow | undefined) => row && readRow(row, new Map())
  const readRows = (rows: readonly TranscriptRow[]) => {
    const known = new Map<number, readonly EntryBody[] | undefined>()
    return rows.map(row => readRow(row, known)).filter(entry => entry !== undefined)
  }
  return {
    insert(thread, entry, { seq, chat_seq, desk }) {
      const { seq: _, chat_seq: __, ...body } = entry as TranscriptEntry
      const { entry_id, scope, kind, role, agent_key = null, group_id = null } = body
      const columns = [thread, seq, chat_seq ?? null, entry_id, scope, kind, role, agent_key, group_id] as const
      insert.run(...columns, desk ? null : formatJson(body), desk?.seq ?? null, desk?.piece ?? null)
      name.run(thread, nameEntry(entry), seq)
      return { ...body, seq, ...(chat_seq !== undefined && { chat_seq }) }
    },
    addNames(thread, entry, isFirst = false) {
      for (const each of identifyEntry(entry).slice(1)) (isFirst ? nameFirst : name).run(thread, each, entry.seq)
    },
    findByName: (thread, each) => readOne(findByName.get(thread, thread, each)),
    listGroup: (thread, group) => readRows(listGroup.all(thread, group)),
    findLastAnswer: thread => readOne(findLastAnswer.get(thread)),
    readRows,
    clear(thread) {
      clearEntries.run(thread)
      clearNames.run(thread)
    },
  }
}

/** Of what the desk has, one reading serves all pieces. */
function createRowReader(said: DeskEntries) {
  function readDesk(
    { desk_seq, piece, role, thread_id }: TranscriptRow,
    known: Map<number, readonly EntryBody[] | undefined>,
  ) {
    const seq = desk_seq ?? 0
    if (!known.has(seq)) known.set(seq, said.read(seq, thread_id))
    const bodies = known.get(seq)
    return bodies?.[piece ?? 0] ?? (bodies?.[0] && writeGone(bodies[0], piece ?? 0, role))
  }
  return (row: TranscriptRow, known: Map<number, readonly EntryBody[] | undefined>): TranscriptEntry | undefined => {
    const { seq, chat_seq } = row
    const body = row.body === null ? readDesk(row, known) : parseJson<EntryBody>(row.body)
    return body && { ...body, seq, ...(chat_seq !== null && { chat_seq }) }
  }
}

/** A piece that an edit took out, or that was forgotten: its place stays. */
function writeGone(first: EntryBody, piece: number, role: EntryBody['role']): EntryBody {
  const { entry_id, thread_id, at } = first
  return {
    entry_id: `${entry_id}.${piece}`,
    thread_id,
    at,
    role,
    scope: 'conversation',
    kind: 'text',
    content: contentOfText(''),
  }
}
