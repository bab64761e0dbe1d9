import type { EntryBody, TranscriptEntry } from '@postern/transcript'
import { contentOfText, identifyEntry, nameEntry } from '@postern/transcript'
import type { Sql } from '../engine/database.ts'
import { formatJson, parseJson } from '../engine/database.ts'
import type { StoreEntries } from './store/entries.ts'

interface EntryPlaces {
  readonly seq: number
  readonly chat_seq: number | undefined
  /** Where the store has it, for what is not written again. */
  readonly store?: { readonly seq: number; readonly piece: number } | undefined
}

interface InsertedEntry {
  readonly entry: TranscriptEntry
  /** Of what is written here. */
  readonly bytes: number
}

/** The entries of threads. Synchronous: what writes runs inside a write. */
export interface TranscriptTable {
  insert(thread: number, entry: EntryBody, places: EntryPlaces): InsertedEntry
  /** Its writer's names lead to this entry from now on; with `isFirst`, unless they lead to one already. */
  addNames(thread: number, entry: TranscriptEntry, isFirst?: boolean): void
  /** By one of the names that `identifyEntry` gives. */
  findByName(thread: number, name: string): TranscriptEntry | undefined
  /** All entries that one foreign message became. */
  listGroup(thread: number, group: string): readonly TranscriptEntry[]
  /** The last answer that is visible in the chat. */
  findLastAnswer(thread: number): TranscriptEntry | undefined
  /** Rows of one thread as its entries; what the store has forgotten is left out. `isExact`: as `StoreEntries.read` has it. */
  readRows(rows: readonly TranscriptRow[], isExact?: boolean): readonly TranscriptEntry[]
  clear(thread: number): void
}

export interface TranscriptRow {
  readonly seq: number
  readonly chat_seq: number | null
  readonly body: string | null
  readonly store_seq: number | null
  readonly piece: number | null
  readonly role: TranscriptEntry['role']
  readonly thread_id: string
}

/** Of `transcript_entries e`. */
export const transcriptColumns = `e.seq, e.chat_seq, e.body, e.store_seq, e.piece, e.role,
  (SELECT t.thread_id FROM transcript_threads t WHERE t.id = e.thread) AS thread_id`

export function createTranscriptTable(db: Sql, said: StoreEntries): TranscriptTable {
  const insert = db.prepare(
    `INSERT INTO transcript_entries
       (thread, seq, chat_seq, entry_id, scope, kind, role, agent_key, group_id, body, store_seq, piece)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const intoNames = 'INTO transcript_entry_names (thread, name, seq) VALUES (?, ?, ?)'
  const name = db.prepare(`INSERT ${intoNames} ON CONFLICT (thread, name) DO UPDATE SET seq = excluded.seq`)
  const nameFirst = db.prepare(`INSERT OR IGNORE ${intoNames}`)
  const select = `SELECT ${transcriptColumns} FROM transcript_entries e WHERE e.thread = ?`
  const findByName = db.prepare<TranscriptRow>(
    `${select} AND e.seq = (SELECT seq FROM transcript_entry_names WHERE thread = ? AND name = ?)`,
  )
  const listGroup = db.prepare<TranscriptRow>(`${select} AND e.group_id = ? ORDER BY e.seq`)
  const findLastAnswer = db.prepare<TranscriptRow>(
    `${select} AND e.chat_seq IS NOT NULL AND e.role = 'assistant' AND e.kind = 'text' ORDER BY e.chat_seq DESC LIMIT 1`,
  )
  const clearEntries = db.prepare('DELETE FROM transcript_entries WHERE thread = ?')
  const clearNames = db.prepare('DELETE FROM transcript_entry_names WHERE thread = ?')
  const readRow = createRowReader(said)
  const readOne = (row: TranscriptRow | undefined) => row && readRow(row, { known: new Map(), isExact: false })
  const readRows = (rows: readonly TranscriptRow[], isExact = false) => {
    const reading = { known: new Map(), isExact }
    return rows.map(row => readRow(row, reading)).filter(entry => entry !== undefined)
  }
  return {
    insert(thread, entry, { seq, chat_seq, store }) {
      const { seq: _, chat_seq: __, ...body } = entry as TranscriptEntry
      const { entry_id, scope, kind, role, agent_key = null, group_id = null } = body
      const columns = [thread, seq, chat_seq ?? null, entry_id, scope, kind, role, agent_key, group_id] as const
      const text = store ? null : formatJson(body)
      insert.run(...columns, text, store?.seq ?? null, store?.piece ?? null)
      name.run(thread, nameEntry(entry), seq)
      const placed = { ...body, seq, ...(chat_seq !== undefined && { chat_seq }) }
      return { entry: placed, bytes: text === null ? 0 : Buffer.byteLength(text) }
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

interface Reading {
  /** Of what the store has, one reading serves all pieces. */
  readonly known: Map<number, readonly EntryBody[] | undefined>
  readonly isExact: boolean
}

function createRowReader(said: StoreEntries) {
  function readStore({ store_seq, piece, role, thread_id }: TranscriptRow, { known, isExact }: Reading) {
    const seq = store_seq ?? 0
    if (!known.has(seq)) known.set(seq, said.read(seq, thread_id, isExact))
    const bodies = known.get(seq)
    return bodies?.[piece ?? 0] ?? (bodies?.[0] && writeGone(bodies[0], piece ?? 0, role))
  }
  return (row: TranscriptRow, reading: Reading): TranscriptEntry | undefined => {
    const { seq, chat_seq } = row
    const body = row.body === null ? readStore(row, reading) : parseJson<EntryBody>(row.body)
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
    ext: { normalized: { of: 0 } },
  }
}
