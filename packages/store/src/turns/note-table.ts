import type { NoteBody, TurnNote } from '@postern/core'
import type { EntryTable, StoredEntryDraft } from '../conversations/entries.ts'
import { createEntryRemoval } from '../conversations/entry-removal.ts'
import type { Batch } from '../engine/batch.ts'
import { addTaskBytes } from '../engine/batch.ts'
import type { Database } from '../engine/database.ts'
import { formatJson, parseJson, prepareQuery } from '../engine/database.ts'

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

export function createNoteTable(db: Database, { entries }: { readonly entries: EntryTable }): NoteTable {
  const list = prepareQuery<NoteRow>(
    db,
    `SELECT seq, native_id AS name, octet_length(content) AS bytes FROM messages WHERE ${isNote}`,
  )
  const findPlace = prepareQuery<{ thread_id: number; owner: string | null }>(
    db,
    'SELECT m.thread_id, k.owner FROM messages m LEFT JOIN tasks k ON k.id = m.task_id WHERE m.seq = ?',
  )
  const findLeader = prepareQuery<{ leader: number | null }>(
    db,
    'SELECT merged_into AS leader FROM turns WHERE message = ?',
  )
  const removeEntry = createEntryRemoval(db)
  const keepOne = createNoteKeeping(db, { entries, removeEntry })
  // What was said meanwhile was taken back: nothing of the turn stays.
  const isRetracted = prepareQuery(
    db,
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
function createNoteKeeping(db: Database, { entries, removeEntry }: NoteKeepingDeps) {
  const find = prepareQuery<{ seq: number; content: string }>(
    db,
    `SELECT seq, content FROM messages WHERE ${isNote} AND native_id = ?`,
  )
  const retime = prepareQuery(db, 'UPDATE messages SET at = ? WHERE seq = ?')
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
