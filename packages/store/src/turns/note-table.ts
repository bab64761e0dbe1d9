import type { LookupStore, NoteBody, TurnNote, WorkStore } from '@postern/core'
import type { EntryTable, StoredEntryDraft } from '../conversations/entries.ts'
import { createEntryRemoval } from '../conversations/entry-removal.ts'
import { isOthersChat } from '../conversations/person-words.ts'
import { saidToSome } from '../conversations/private-answers.ts'
import type { Batch, Sql } from '../engine/database.ts'
import { addTaskBytes, formatJson, parseJson, refuseLostLease } from '../engine/database.ts'
import type { StoreContext } from '../engine/store-context.ts'
import { touchedThread } from '../together/touched.ts'

/** A note as its columns, made before the transaction. */
export interface NoteDraft extends StoredEntryDraft {
  readonly body: NoteBody
}

/** In which turn something is noted. */
interface NotePlace {
  readonly message: number
  readonly thread: number
  /** Whose task it is. */
  readonly owner?: string | undefined
}

/** What is noted of turns. Synchronous: inside a write. */
export interface NoteTable {
  /** In this order; what is there under the same name gives way. */
  keep(batch: Batch, notes: readonly NoteDraft[], place: NotePlace): void
  /** Of a turn that was tried again: notes of its own beyond so many are an earlier try's. */
  dropBeyond(batch: Batch, count: number, place: NotePlace): void
  /**
   * All notes of a message's turn, for good; where it was answered together with another, of that turn, too. @returns how many bytes those had that
   * are the message's own: they are still to be booked
   */
  remove(batch: Batch, message: number): number
}

interface NoteRow {
  readonly seq: number
  readonly name: string
  readonly bytes: number
}

/** A note of a message's turn, as SQL. */
const isNote = "scope = 'trace' AND thread_id = ? AND answers = ?"

export function createNoteTable(db: Sql, { entries }: { readonly entries: EntryTable }): NoteTable {
  const list = db.prepare<NoteRow>(
    `SELECT seq, native_id AS name, octet_length(content) AS bytes FROM messages WHERE ${isNote}`,
  )
  const findPlace = db.prepare<{ thread_id: number; owner: string | null }>(
    'SELECT m.thread_id, k.owner FROM messages m LEFT JOIN tasks k ON k.id = m.task_id WHERE m.seq = ?',
  )
  const findLeader = db.prepare<{ leader: number | null }>('SELECT merged_into AS leader FROM turns WHERE message = ?')
  const removeEntry = createEntryRemoval(db)
  const keepOne = createNoteKeeping(db, { entries, removeEntry })
  // What was said meanwhile was taken back: nothing of the turn stays.
  const isRetracted = db.prepare(
    "SELECT 1 FROM messages WHERE kind = 'response' AND answers = ? AND retracted_at IS NOT NULL",
  )

  function removeAll(message: number) {
    const { thread_id, owner } = findPlace.get(message) ?? {}
    const notes = thread_id === undefined ? [] : list.all(thread_id, message)
    for (const { seq } of notes) removeEntry(seq)
    return { owner, bytes: notes.reduce((sum, { bytes }) => sum + bytes, 0) }
  }

  return {
    keep(batch, notes, place) {
      if (notes.length === 0 || isRetracted.get(place.message)) return
      for (const note of notes) keepOne(batch, note, place)
    },
    dropBeyond(batch, most, place) {
      for (const { seq, name, bytes } of list.all(place.thread, place.message)) {
        const [, number] = /^note (\d+)$/.exec(name) ?? []
        if (number === undefined || Number(number) <= most) continue
        countBytes(batch, place, -bytes)
        removeEntry(seq)
      }
    },
    remove(batch, message) {
      const { leader } = findLeader.get(message) ?? {}
      const taken = leader ? removeAll(leader) : undefined
      if (taken?.owner) addTaskBytes(batch, taken.owner, -taken.bytes)
      return removeAll(message).bytes
    },
  }
}

interface NoteKeepingDeps {
  readonly entries: EntryTable
  readonly removeEntry: (seq: number) => void
}

/** Writes a note in the place of the one that has its name. */
function createNoteKeeping(db: Sql, { entries, removeEntry }: NoteKeepingDeps) {
  const find = db.prepare<{ seq: number; content: string }>(
    `SELECT seq, content FROM messages WHERE ${isNote} AND native_id = ?`,
  )
  const retime = db.prepare('UPDATE messages SET at = ? WHERE seq = ?')
  return (batch: Batch, draft: NoteDraft, place: NotePlace): void => {
    const { message, thread } = place
    const known = find.get(thread, message, draft.nativeId)
    countBytes(batch, place, Buffer.byteLength(draft.content) - (known ? Buffer.byteLength(known.content) : 0))
    if (known && isSameLine(parseJson(known.content), draft.body)) {
      entries.reword(known.seq, draft.content)
      retime.run(draft.at, known.seq)
      return
    }
    // What reads the transcript knows by its number what kind of line it is.
    if (known) removeEntry(known.seq)
    entries.append(draft, { thread, answers: message })
  }
}

function countBytes(batch: Batch, { owner }: NotePlace, bytes: number): void {
  if (owner !== undefined) addTaskBytes(batch, owner, bytes)
}

const lineMembers = ['kind', 'role', 'scope', 'agent_key'] as const

function isSameLine(known: NoteBody, next: NoteBody): boolean {
  return lineMembers.every(member => known[member] === next[member])
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

/** What is noted while a turn goes on. */
export function createNoting(
  { db, write }: StoreContext,
  { notes: table }: { readonly notes: NoteTable },
): Pick<WorkStore, 'note'> {
  const findHeld = db.prepare<{ thread_id: number }>(
    'SELECT thread_id FROM turns WHERE message = ? AND lease_token = ? AND lease_owner IS NOT NULL',
  )
  return {
    async note(turn, notes) {
      const { message, token, task, content, thread } = turn
      const drafts = notes.map(note => draftNote(note, content.recipient))
      const size = drafts.reduce((sum, draft) => sum + draft.content.length, 0)
      const held = await write(
        batch => {
          const row = findHeld.get(message, token)
          if (row) table.keep(batch, drafts, { message, thread: row.thread_id, owner: task?.owner })
          return row ? 1 : 0
        },
        { size, touches: () => [touchedThread(thread)] },
      )
      refuseLostLease(held, `turn ${message}`)
    },
  }
}

interface KeptRow {
  readonly seq: number
  readonly entry_id: string
  readonly answers: number
  readonly at: string
  readonly content: string
}

/** Words that were broken off, and stages, are nobody's notes. */
const isNoted = "json_extract(content, '$.kind') NOT IN ('text', 'activity')"

/** Nothing of turns whose answer was for some only, or that somebody else began from their chat, in a thread that others read and write, too. */
export function createNoteLookup({
  db,
  channels,
}: Pick<StoreContext, 'db' | 'channels'>): Pick<LookupStore, 'readNotes'> {
  const read = db.prepare<KeptRow>(
    `SELECT seq, entry_id, answers, at, content FROM messages e WHERE scope = 'trace' AND thread_id = ?1 AND answers < ?2
       AND ${isNoted}
       AND NOT EXISTS (SELECT 1 FROM messages r JOIN threads t ON t.id = r.thread_id
         WHERE r.kind = 'response' AND r.answers = e.answers AND ${saidToSome('r')}) AND NOT ${isOthersChat('?3', channels)}
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

/** What was heard of answers that were broken off. */
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
          if (row) table.keep(batch, [draft], { message, thread: row.thread_id, owner: task?.owner })
          // Whoever looked for the next turn of the thread meanwhile has passed it over.
          batch.readyWork.add('turns')
        },
        { size: draft.content.length, touches: () => [touchedThread(thread)] },
      )
    },
  }
}
