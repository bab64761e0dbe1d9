import type { DatabaseSync } from 'node:sqlite'
import type { EntryBody, TranscriptEntry } from '@postern/transcript'
import { identifyEntry } from '@postern/transcript'
import { formatJson, parseJson, prepareQuery } from '../database.ts'

export interface EntryPlaces {
  readonly seq: number
  readonly chat_seq: number | undefined
}

/** The entries of threads. Synchronous: inside a write. */
export interface TranscriptTable {
  insert(thread: number, entry: EntryBody, places: EntryPlaces): TranscriptEntry
  /** By one of the names that `identifyEntry` gives. */
  findByName(thread: number, name: string): TranscriptEntry | undefined
  /** All entries that one foreign message became. */
  listGroup(thread: number, group: string): readonly TranscriptEntry[]
  /** The last answer that is visible in the chat. */
  findLastAnswer(thread: number): TranscriptEntry | undefined
  clear(thread: number): void
}

export interface TranscriptRow {
  readonly seq: number
  readonly chat_seq: number | null
  readonly body: string
}

export const transcriptColumns = 'seq, chat_seq, body'

export function readTranscriptRow({ seq, chat_seq, body }: TranscriptRow): TranscriptEntry {
  return { ...parseJson<EntryBody>(body), seq, ...(chat_seq !== null && { chat_seq }) }
}

export function createTranscriptTable(db: DatabaseSync): TranscriptTable {
  const insert = prepareQuery(
    db,
    `INSERT INTO transcript_entries (thread, seq, chat_seq, entry_id, scope, kind, role, agent_key, group_id, body)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const name = prepareQuery(db, 'INSERT OR REPLACE INTO transcript_names (thread, name, seq) VALUES (?, ?, ?)')
  const select = `SELECT ${transcriptColumns} FROM transcript_entries WHERE thread = ?`
  const findByName = prepareQuery<TranscriptRow>(
    db,
    `${select} AND seq = (SELECT seq FROM transcript_names WHERE thread = ? AND name = ?)`,
  )
  const listGroup = prepareQuery<TranscriptRow>(db, `${select} AND group_id = ? ORDER BY seq`)
  const findLastAnswer = prepareQuery<TranscriptRow>(
    db,
    `${select} AND chat_seq IS NOT NULL AND role = 'assistant' AND kind = 'text' ORDER BY chat_seq DESC LIMIT 1`,
  )
  const clearEntries = prepareQuery(db, 'DELETE FROM transcript_entries WHERE thread = ?')
  const clearNames = prepareQuery(db, 'DELETE FROM transcript_names WHERE thread = ?')
  const readOne = (row: TranscriptRow | undefined) => row && readTranscriptRow(row)
  return {
    insert(thread, entry, { seq, chat_seq }) {
      const { seq: _, chat_seq: __, ...body } = entry as TranscriptEntry
      const { entry_id, scope, kind, role, agent_key = null, group_id = null } = body
      const places = [thread, seq, chat_seq ?? null] as const
      insert.run(...places, entry_id, scope, kind, role, agent_key, group_id, formatJson(body))
      for (const each of identifyEntry(entry)) name.run(thread, each, seq)
      return { ...body, seq, ...(chat_seq !== undefined && { chat_seq }) }
    },
    findByName: (thread, each) => readOne(findByName.get(thread, thread, each)),
    listGroup: (thread, group) => listGroup.all(thread, group).map(readTranscriptRow),
    findLastAnswer: thread => readOne(findLastAnswer.get(thread)),
    clear(thread) {
      clearEntries.run(thread)
      clearNames.run(thread)
    },
  }
}
