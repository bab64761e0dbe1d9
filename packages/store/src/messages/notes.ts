// Stores notes of turns, such as tool calls.
import type { LookupStore, NoteBody, TurnNote, WorkStore } from '@postern/pipeline'
import { refuseLostLease } from '../queue/lost-lease.ts'
import { formatJson, parseJson } from '../sql/json-columns.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { EntryTable, StoredEntryDraft } from '../threads/entries.ts'
import { createEntryRemoval } from '../threads/entry-removal.ts'
import { othersChatCondition } from '../threads/person-messages.ts'
import { privateAnswerCondition } from '../threads/private-answers.ts'
import type { Batch } from '../transaction/batch.ts'
import { threadConflict } from '../transaction/conflict-keys.ts'
import type { StoreContext } from '../transaction/store-context.ts'
import { addTaskBytes } from '../transaction/totals.ts'

/** A note as the columns of its row, formatted before the transaction begins. */
export interface NoteDraft extends StoredEntryDraft {
  readonly body: NoteBody
}

/** The message and the thread of the turn to which a note belongs. */
interface NotePosition {
  readonly message: number
  readonly thread: number
  /** The owner of the task. */
  readonly owner?: string | undefined
}

/** Notes of turns, such as tool calls and unfinished answers. The members are operations of a write. */
export interface NoteTable {
  /** Stores notes in their order. A note replaces an earlier note of the same name. */
  upsert(batch: Batch, notes: readonly NoteDraft[], position: NotePosition): Operation<void>
  /** Deletes the notes of a retried turn whose number is higher than `count`, because they belong to an earlier attempt. */
  deleteBeyond(batch: Batch, count: number, position: NotePosition): Operation<void>
  /**
   * Deletes all notes of a message's turn, and of the turn into which it was merged.
   * @returns the number of bytes of the message's own notes, which the caller subtracts from the totals
   */
  remove(batch: Batch, message: number): Operation<number>
}

interface NoteRow {
  readonly seq: number
  readonly name: string
  readonly bytes: number
}

/** The condition that matches a note of a message's turn. */
const noteCondition = "scope = 'trace' AND thread_id = ? AND answers = ?"

export function createNoteTable(db: Sql, { entries }: { readonly entries: EntryTable }): NoteTable {
  const list = db.prepare<NoteRow>(
    `SELECT seq, native_id AS name, octet_length(content) AS bytes FROM messages WHERE ${noteCondition}`,
  )
  const findPosition = db.prepare<{ thread_id: number; owner: string | null }>(
    'SELECT m.thread_id, k.owner FROM messages m LEFT JOIN tasks k ON k.id = m.task_id WHERE m.seq = ?',
  )
  const findLeader = db.prepare<{ leader: number | null }>('SELECT merged_into AS leader FROM turns WHERE message = ?')
  const removeEntry = createEntryRemoval(db)
  const upsertNote = createNoteUpsert(db, { entries, removeEntry })
  // A deleted partial answer shows that its turn was forgotten, so the turn gets no further notes.
  const findRetraction = db.prepare(
    "SELECT 1 FROM messages WHERE kind = 'response' AND answers = ? AND retracted_at IS NOT NULL",
  )

  function* removeNotes(message: number) {
    const { thread_id, owner } = (yield* findPosition.get(message)) ?? {}
    const notes = thread_id === undefined ? [] : yield* list.all(thread_id, message)
    for (const { seq } of notes) yield* removeEntry(seq)
    return { owner, bytes: notes.reduce((sum, { bytes }) => sum + bytes, 0) }
  }

  return {
    *upsert(batch, notes, position) {
      if (notes.length === 0 || (yield* findRetraction.get(position.message))) return
      for (const note of notes) yield* upsertNote(batch, note, position)
    },
    *deleteBeyond(batch, count, position) {
      for (const { seq, name, bytes } of yield* list.all(position.thread, position.message)) {
        const [, number] = /^note (\d+)$/.exec(name) ?? []
        if (number === undefined || Number(number) <= count) continue
        countBytes(batch, position, -bytes)
        yield* removeEntry(seq)
      }
    },
    *remove(batch, message) {
      const { leader } = (yield* findLeader.get(message)) ?? {}
      const leaderNotes = leader ? yield* removeNotes(leader) : undefined
      if (leaderNotes?.owner) addTaskBytes(batch, leaderNotes.owner, -leaderNotes.bytes)
      return (yield* removeNotes(message)).bytes
    },
  }
}

interface NoteUpsertDeps {
  readonly entries: EntryTable
  readonly removeEntry: (seq: number) => Operation<void>
}

/** Prepares the insertion of a note, which replaces an earlier note of the same name. */
function createNoteUpsert(db: Sql, { entries, removeEntry }: NoteUpsertDeps) {
  const find = db.prepare<{ seq: number; content: string }>(
    `SELECT seq, content FROM messages WHERE ${noteCondition} AND native_id = ?`,
  )
  const setTime = db.prepare('UPDATE messages SET at = ? WHERE seq = ?')
  return function* (batch: Batch, draft: NoteDraft, position: NotePosition): Operation<void> {
    const { message, thread } = position
    const existingNote = yield* find.get(thread, message, draft.nativeId)
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
    // Readers of the transcript assume that a row never changes its kind, so the new note gets a new row.
    if (existingNote) yield* removeEntry(existingNote.seq)
    yield* entries.append(draft, { thread, answers: message })
  }
}

function countBytes(batch: Batch, { owner }: NotePosition, bytes: number): void {
  if (owner !== undefined) addTaskBytes(batch, owner, bytes)
}

const identityMembers = ['kind', 'role', 'scope', 'agent_key'] as const

function hasSameKind(existingNote: NoteBody, newNote: NoteBody): boolean {
  return identityMembers.every(member => existingNote[member] === newNote[member])
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

/** Creates the function that stores notes of a running turn. */
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
        function* (batch) {
          const row = yield* selectLease.get(message, token)
          if (row) yield* table.upsert(batch, drafts, { message, thread: row.thread_id, owner: task?.owner })
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

/** The condition that matches notes for agents. It excludes unfinished answers (`text`) and stages (`activity`). */
const readableCondition = "json_extract(content, '$.kind') NOT IN ('text', 'activity')"

/** Lists notes for an agent. Turns of a shared thread are left out if their answer was private, or if another person began them in their own chat. */
export function createNoteLookup({
  db,
  channels,
}: Pick<StoreContext, 'db' | 'channels'>): Pick<LookupStore, 'readNotes'> {
  const read = db.prepare<ReadableNoteRow>(
    `SELECT seq, entry_id, answers, at, content FROM messages e WHERE scope = 'trace' AND thread_id = ?1 AND answers < ?2
       AND ${readableCondition}
       AND NOT EXISTS (SELECT 1 FROM messages r JOIN threads t ON t.id = r.thread_id
         WHERE r.kind = 'response' AND r.answers = e.answers AND ${privateAnswerCondition('r')}) AND NOT ${othersChatCondition('?3', channels)}
     ORDER BY answers DESC, seq DESC LIMIT +?4`,
  )
  return {
    readNotes: ({ thread, beforeMessage: before, limit, speakers = [] }) =>
      db.read(function* () {
        return (yield* read.all(thread, before, formatJson(speakers), limit))
          .reverse()
          .map(({ seq, entry_id: entryId, answers: message, at, content }) => {
            return { seq, entryId, message, at, body: parseJson<NoteBody>(content) }
          })
      }),
  }
}

/** Creates the function that stores the streamed text of a turn that was canceled. */
export function createStreamedAnswers(
  { db, write }: StoreContext,
  { notes: table }: { readonly notes: NoteTable },
): Pick<WorkStore, 'storeStreamedAnswer'> {
  const findCanceled = db.prepare<{ thread_id: number }>(
    `SELECT t.thread_id FROM turns t JOIN tasks k ON k.id = t.task_id AND k.state = 'canceled'
     WHERE t.message = ? AND t.lease_token = ? AND t.ended_at IS NOT NULL`,
  )
  return {
    async storeStreamedAnswer({ message, token, task, content, thread }, note) {
      const draft = draftNote(note, content.recipient)
      await write(
        function* (batch) {
          const row = yield* findCanceled.get(message, token)
          if (row) yield* table.upsert(batch, [draft], { message, thread: row.thread_id, owner: task?.owner })
          // A poll may have skipped the next turn in the meantime, so the workers are notified again.
          batch.readyWork.add('turns')
        },
        { size: draft.content.length, conflictKeys: () => [threadConflict(thread)] },
      )
    },
  }
}
