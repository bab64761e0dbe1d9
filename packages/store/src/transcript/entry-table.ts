// Stores and reads the entries of transcript threads.
import type { EntryBody, TranscriptEntry } from '@postern/transcript'
import { contentOfText, identifyEntry, nameEntry } from '@postern/transcript'
import { formatJson, parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import { mapInOrder } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { StoreEntries } from './conversation/entries.ts'

interface ThreadPositions {
  readonly seq: number
  readonly chat_seq: number | undefined
  /** The message and the piece of an entry that the store already has. */
  readonly store?: { readonly seq: number; readonly piece: number } | undefined
}

interface InsertedEntry {
  readonly entry: TranscriptEntry
  /** The number of bytes that were written. */
  readonly bytes: number
}

/** The table of the entries of threads. The members are operations. Those that change rows belong to a write. */
export interface TranscriptEntryTable {
  insert(thread: number, entry: EntryBody, positions: ThreadPositions): InsertedEntry
  /** Adds the names that the writer gave to an entry. With `keepsExisting`, an existing name keeps its entry. */
  addNames(thread: number, entry: TranscriptEntry, options?: { readonly keepsExisting?: boolean }): void
  /** Finds an entry by one of the names that `identifyEntry` lists. */
  findByName(thread: number, name: string): Operation<TranscriptEntry | undefined>
  /** Lists the entries that were made from one message of another format. */
  listGroup(thread: number, group: string): Operation<readonly TranscriptEntry[]>
  /** Finds the last answer that is visible in the chat. */
  findLastAnswer(thread: number): Operation<TranscriptEntry | undefined>
  /** Reads the entries of rows, without entries that the store has forgotten. `StoreEntries.read` explains `isExact`. */
  readRows(rows: readonly TranscriptRow[], isExact?: boolean): Operation<readonly TranscriptEntry[]>
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

/** The columns of a `TranscriptRow`, from `transcript_entries e`. */
export const transcriptColumns = `e.seq, e.chat_seq, e.body, e.store_seq, e.piece, e.role,
  (SELECT t.thread_id FROM transcript_threads t WHERE t.id = e.thread) AS thread_id`

export function createTranscriptEntryTable(db: Sql, storeEntries: StoreEntries): TranscriptEntryTable {
  const insert = db.prepare(
    `INSERT INTO transcript_entries
       (thread, seq, chat_seq, entry_id, scope, kind, role, agent_key, group_id, body, store_seq, piece)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const namesTable = 'INTO transcript_entry_names (thread, name, seq) VALUES (?, ?, ?)'
  const upsertName = db.prepare(`INSERT ${namesTable} ON CONFLICT (thread, name) DO UPDATE SET seq = excluded.seq`)
  const insertName = db.prepare(`INSERT OR IGNORE ${namesTable}`)
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
  const readRow = createRowReader(storeEntries)
  function* readOne(row: TranscriptRow | undefined) {
    return row && (yield* readRow(row, { entriesByMessage: new Map(), isExact: false }))
  }
  function* readRows(rows: readonly TranscriptRow[], isExact = false) {
    const cache = { entriesByMessage: new Map(), isExact }
    return (yield* mapInOrder(rows, row => readRow(row, cache))).filter(entry => entry !== undefined)
  }
  return {
    insert(thread, entry, { seq, chat_seq, store }) {
      const { seq: _, chat_seq: __, ...body } = entry as TranscriptEntry
      const { entry_id, scope, kind, role, agent_key = null, group_id = null } = body
      const columns = [thread, seq, chat_seq ?? null, entry_id, scope, kind, role, agent_key, group_id] as const
      const text = store ? null : formatJson(body)
      insert.run(...columns, text, store?.seq ?? null, store?.piece ?? null)
      upsertName.run(thread, nameEntry(entry), seq)
      const storedEntry = { ...body, seq, ...(chat_seq !== undefined && { chat_seq }) }
      return { entry: storedEntry, bytes: text === null ? 0 : Buffer.byteLength(text) }
    },
    addNames(thread, entry, { keepsExisting = false } = {}) {
      for (const entryName of identifyEntry(entry).slice(1))
        (keepsExisting ? insertName : upsertName).run(thread, entryName, entry.seq)
    },
    *findByName(thread, entryName) {
      return yield* readOne(yield* findByName.get(thread, thread, entryName))
    },
    *listGroup(thread, group) {
      return yield* readRows(yield* listGroup.all(thread, group))
    },
    *findLastAnswer(thread) {
      return yield* readOne(yield* findLastAnswer.get(thread))
    },
    readRows,
    clear(thread) {
      clearEntries.run(thread)
      clearNames.run(thread)
    },
  }
}

interface ReadCache {
  /** The entries that were read from the store. They are read once for all pieces of a message. */
  readonly entriesByMessage: Map<number, readonly EntryBody[] | undefined>
  readonly isExact: boolean
}

function createRowReader(storeEntries: StoreEntries) {
  function* readStore({ store_seq, piece, role, thread_id }: TranscriptRow, { entriesByMessage, isExact }: ReadCache) {
    const seq = store_seq ?? 0
    if (!entriesByMessage.has(seq)) entriesByMessage.set(seq, yield* storeEntries.read(seq, thread_id, isExact))
    const bodies = entriesByMessage.get(seq)
    return bodies?.[piece ?? 0] ?? (bodies?.[0] && buildTombstone(bodies[0], piece ?? 0, role))
  }
  return function* (row: TranscriptRow, reading: ReadCache): Operation<TranscriptEntry | undefined> {
    const { seq, chat_seq } = row
    const body = row.body === null ? yield* readStore(row, reading) : parseJson<EntryBody>(row.body)
    return body && { ...body, seq, ...(chat_seq !== null && { chat_seq }) }
  }
}

/** Builds the empty entry of a piece that was removed by an edit or was forgotten. Its position stays. */
function buildTombstone(firstEntry: EntryBody, piece: number, role: EntryBody['role']): EntryBody {
  const { entry_id, thread_id, at } = firstEntry
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
