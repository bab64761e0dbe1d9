// Describes the notes of agents about their work, and formats their texts.
import type { Json, Part } from '@postern/message'
import { isFilePart, plainTextOf } from '@postern/message'
import type { HistoryRequest } from './transcript.ts'

/**
 * A note of an agent about its actions or thoughts in a turn, as a message of a message store. Its `type` determines its required members; any
 * further member is stored.
 */
export interface AgentNote {
  readonly type: string
  readonly [member: string]: Json | undefined
}

/** A note as an entry of the transcript, except for its position. It is stored unchanged. */
export interface NoteBody {
  readonly kind: string
  readonly [member: string]: Json | undefined
}

/** One note of a turn, ready to be stored. */
export interface TurnNote {
  /** The name of the note within its turn: a later note of the same name replaces it. */
  readonly name: string
  /** ISO 8601 UTC. */
  readonly at: string
  readonly body: NoteBody
}

/** A note as it is stored. */
export interface StoredNote extends Omit<TurnNote, 'name'> {
  readonly seq: number
  readonly entryId: string
  /** The number of the message in whose turn it was recorded. */
  readonly message: number
}

/** A notice of a new note for listeners of a turn. It is a hint that may be lost. */
export interface NoteNotice {
  readonly kind: 'note'
  /** The id that links a delegation or an action to its observation. It is the same in a retried turn. */
  readonly id: string
  readonly body: NoteBody
}

/** A notice of a stage that begins. The stage ends with its note (`activity`). */
export interface StageNotice {
  readonly kind: 'stage'
  readonly id: string
  readonly stage: string
}

export interface NotesRequest extends Pick<HistoryRequest, 'thread' | 'speakers'> {
  /** The number of a message; only notes of turns of earlier messages are read. */
  readonly beforeMessage: number
  /** The number of notes; the newest ones are read. */
  readonly limit: number
}

/** The facts that a note does not contain itself. */
export interface NoteContext {
  /** The agent of the note, if the note names none. */
  readonly agent_key: string
  readonly turn_id: string
  /** The time of a note that has no time of its own, ISO 8601 UTC. */
  readonly at: string
  /** The id that links a delegation or an action to its observation. */
  readonly call_id: string
  /** The called tool of an observation. */
  readonly tool?: string | undefined
  /** The failure of an observation. */
  readonly error?: { readonly message: string; readonly code?: string | undefined } | undefined
}

/** Reads a note of an agent. @throws Rejection malformed, naming the missing or wrong member */
export type ReadNote = (note: AgentNote, context: NoteContext) => NoteBody

/** Returns the id that names one turn of an agent everywhere: the turn that begins with the message of this number. */
export function formatTurnId(message: number): string {
  return `store-${message}`
}

const maxNoteTextChars = 32_768

/** Returns the text of parts for a note: their text and addresses, and the names of files. */
export function noteTextOf(parts: readonly Part[]): string {
  return clipNoteText(parts.map(describePart).filter(Boolean).join('\n\n'))
}

/** Clips a text of others to the length that is stored, and makes it well-formed Unicode. */
export function clipNoteText(text: string): string {
  const clippedText = text.length > maxNoteTextChars ? `${text.slice(0, maxNoteTextChars)}…` : text
  return clippedText.toWellFormed()
}

function describePart(part: Part): string {
  if (isFilePart(part)) return `[${part.name ?? part.description ?? part.mime ?? part.kind}]`
  return plainTextOf([part])
}
