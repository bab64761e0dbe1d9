// Stores notes of turns, such as tool calls.
import type { LookupStore, NoteBody, TurnNote, WorkStore } from '@postern/pipeline'
import { threadConflict } from '../batching/conflict-keys.ts'
import { refuseLostLease } from '../queue/lost-lease.ts'
import { formatJson, parseJson } from '../sql/json-columns.ts'
import type { Sql } from '../sql/sql.ts'
import type { EntryTable, StoredEntryDraft } from '../threads/entries.ts'
import { createEntryRemoval } from '../threads/entry-removal.ts'
import { isOthersChat } from '../threads/person-messages.ts'
import { isPrivateAnswer } from '../threads/private-answers.ts'
import type { Batch } from '../transaction/batch.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import { addTaskBytes } from '../transaction/totals.ts'

/** A note as its columns. It is formatted before the transaction. */
export interface NoteDraft extends StoredEntryDraft {
  readonly body: NoteBody
}

/** The message and the thread whose turn notes something. */
interface NotePosition {
  readonly message: number
  readonly thread: number
  /** The owner of the task. */
  readonly owner?: string | undefined
}

/** Notes of turns, such as tool calls and unfinished answers. The members run synchronously, inside a write. */
export interface NoteTable {
  /** Stores notes in their order. A note replaces an earlier one of the same name. */
  upsert(batch: Batch, notes: readonly NoteDraft[], position: NotePosition): void
  /** Deletes notes of a retried turn beyond `count`, because they belong to an earlier attempt. */
  deleteBeyond(batch: Batch, count: number, position: NotePosition): void
  /**
   * Deletes all notes of a message's turn, and of the turn into which it was merged. @returns the bytes of the message's own notes, which the caller
   * subtracts from the totals
   */
  remove(batch: Batch, message: number): number
}

interface NoteRow {
  readonly seq: number
  readonly name: string
  readonly bytes: number
}

/** The condition that matches a note of a message's turn. */
const isNote = "scope = 'trace' AND thread_id = ? AND answers = ?"

export function createNoteTable(db: Sql, { entries }: { readonly entries: EntryTable }): NoteTable {
  const list = db.prepare<NoteRow>(
    `SELECT seq, native_id AS name, octet_length(content) AS bytes FROM messages WHERE ${isNote}`,
  )
  const findPosition = db.prepare<{ thread_id: number; owner: string | null }>(
    'SELECT m.thread_id, k.owner FROM messages m LEFT JOIN tasks k ON k.id = m.task_id WHERE m.seq = ?',
  )
  const findLeader = db.prepare<{ leader: number | null }>('SELECT merged_into AS leader FROM turns WHERE message = ?')
  const removeEntry = createEntryRemoval(db)
  const upsertNote = createNoteUpsert(db, { entries, removeEntry })
  // The partial answer of the turn was deleted, so no note of the turn stays.
  const isRetracted = db.prepare(
    "SELECT 1 FROM messages WHERE kind = 'response' AND answers = ? AND retracted_at IS NOT NULL",
  )

  function removeAll(message: number) {
    const { thread_id, owner } = findPosition.get(message) ?? {}
    const notes = thread_id === undefined ? [] : list.all(thread_id, message)
    for (const { seq } of notes) removeEntry(seq)
    return { owner, bytes: notes.reduce((sum, { bytes }) => sum + bytes, 0) }
  }

  return {
    upsert(batch, notes, position) {
      if (notes.length === 0 || isRetracted.get(position.message)) return
      for (const note of notes) upsertNote(batch, note, position)
    },
    deleteBeyond(batch, count, position) {
      for (const { seq, name, bytes } of list.all(position.thread, position.message)) {
        const [, number] = /^note (\d+)$/.exec(name) ?? []
        if (number === undefined || Number(number) <= count) continue
        countBytes(batch, position, -bytes)
        removeEntry(seq)
      }
    },
    remove(batch, message) {
      const { leader } = findLeader.get(message) ?? {}
      const leaderNotes = leader ? removeAll(leader) : undefined
      if (leaderNotes?.owner) addTaskBytes(batch, leaderNotes.owner, -leaderNotes.bytes)
      return removeAll(message).bytes
    },
  }
}

interface NoteUpsertDeps {
  readonly entries: EntryTable
  readonly removeEntry: (seq: number) => void
}

/** Prepares the insert of a note, which replaces an earlier one of its name. */
function createNoteUpsert(db: Sql, { entries, removeEntry }: NoteUpsertDeps) {
  const find = db.prepare<{ seq: number; content: string }>(
    `SELECT seq, content FROM messages WHERE ${isNote} AND native_id = ?`,
  )
  const setTime = db.prepare('UPDATE messages SET at = ? WHERE seq = ?')
  return (batch: Batch, draft: NoteDraft, position: NotePosition): void => {
    const { message, thread } = position
    const existingNote = find.get(thread, message, draft.nativeId)
    countBytes(
      batch,
      position,
      Buffer.byteLength(draft.content) - (existingNote ? Buffer.byteLength(existingNote.content) : 0),
    )
    if (existingNote && hasSameKind(parseJson(existingNote.content), draft.body)) {
      entries.reword(existingNote.seq, draft.content)
      setTime.run(draft.at, existingNote.seq)
      return
    }
    // Readers of the transcript know the kind of a row by its number, so the new note gets a new row.
    if (existingNote) removeEntry(existingNote.seq)
    entries.append(draft, { thread, answers: message })
  }
}

function countBytes(batch: Batch, { owner }: NotePosition, bytes: number): void {
  if (owner !== undefined) addTaskBytes(batch, owner, bytes)
}

const lineMembers = ['kind', 'role', 'scope', 'agent_key'] as const

function hasSameKind(existingNote: NoteBody, newNote: NoteBody): boolean {
  return lineMembers.every(member => existingNote[member] === newNote[member])
}

export function draftNote({ name, at, body }: TurnNote, author: string): NoteDraft {
  const content = formatJson(body)
  return {
    nativeId: name,
    scope: 'trace',
    kind: 'note',
    author: formatJson({ address: author }),
    content,
    at,
    body,
  }
}

/** Creates the storing of notes while a turn runs. */
export function createNoteStore(
  { db, write }: StoreContext,
  { notes: table }: { readonly notes: NoteTable },
): Pick<WorkStore, 'note'> {
  const selectLease = db.prepare<{ thread_id: number }>(
    'SELECT thread_id FROM turns WHERE message = ? AND lease_token = ? AND lease_owner IS NOT NULL',
  )
  return {
    async note(turn, notes) {
      const { message, token, task, content, thread } = turn
      const drafts = notes.map(note => draftNote(note, content.recipient))
      const size = drafts.reduce((sum, draft) => sum + draft.content.length, 0)
      const leasedTurns = await write(
        batch => {
          const row = selectLease.get(message, token)
          if (row) table.upsert(batch, drafts, { message, thread: row.thread_id, owner: task?.owner })
          return row ? 1 : 0
        },
        { size, conflictKeys: () => [threadConflict(thread)] },
      )
      refuseLostLease(leasedTurns, `turn ${message}`)
    },
  }
}

interface ReadableNoteRow {
  readonly seq: number
  readonly entry_id: string
  readonly answers: number
  readonly at: string
  readonly content: string
}

/** Selects notes that agents may read: neither unfinished answers nor stages. */
const isNoted = "json_extract(content, '$.kind') NOT IN ('text', 'activity')"

/** Lists notes for an agent, without turns of a shared thread whose answer was private or that another person began in their own chat. */
export function createNoteLookup({
  db,
  channels,
}: Pick<StoreContext, 'db' | 'channels'>): Pick<LookupStore, 'readNotes'> {
  const read = db.prepare<ReadableNoteRow>(
    `SELECT seq, entry_id, answers, at, content FROM messages e WHERE scope = 'trace' AND thread_id = ?1 AND answers < ?2
       AND ${isNoted}
       AND NOT EXISTS (SELECT 1 FROM messages r JOIN threads t ON t.id = r.thread_id
         WHERE r.kind = 'response' AND r.answers = e.answers AND ${isPrivateAnswer('r')}) AND NOT ${isOthersChat('?3', channels)}
     ORDER BY answers DESC, seq DESC LIMIT +?4`,
  )
  return {
    readNotes: async ({ thread, before, limit, speakers = [] }) =>
      read
        .all(thread, before, formatJson(speakers), limit)
        .reverse()
        .map(({ seq, entry_id: entryId, answers: message, at, content }) => {
          return { seq, entryId, message, at, body: parseJson<NoteBody>(content) }
        }),
  }
}

/** Prepares the reading of unfinished answers. */
export function createStreamedAnswers(
  { db, write }: StoreContext,
  { notes: table }: { readonly notes: NoteTable },
): Pick<WorkStore, 'keepStreamed'> {
  const findCanceled = db.prepare<{ thread_id: number }>(
    `SELECT t.thread_id FROM turns t JOIN tasks k ON k.id = t.task_id AND k.state = 'canceled'
     WHERE t.message = ? AND t.lease_token = ? AND t.ended_at IS NOT NULL`,
  )
  return {
    async keepStreamed({ message, token, task, content, thread }, note) {
      const draft = draftNote(note, content.recipient)
      await write(
        batch => {
          const row = findCanceled.get(message, token)
          if (row) table.upsert(batch, [draft], { message, thread: row.thread_id, owner: task?.owner })
          // A poll in the meantime has skipped the turn, so it is announced again.
          batch.readyWork.add('turns')
        },
        { size: draft.content.length, conflictKeys: () => [threadConflict(thread)] },
      )
    },
  }
}
