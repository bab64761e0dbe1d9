import type { Json } from '../../format/notations.ts'
import type { Part } from '../../message/part.ts'
import { isFilePart, plainTextOf } from '../../message/response.ts'
import type { HistoryRequest } from './transcript.ts'

/**
 * What an agent did, thought or made known in a turn, as a message of a message store has it: its `type` says what else it must
 * have; any further member is kept.
 */
export interface AgentNote {
  readonly type: string
  readonly [member: string]: Json | undefined
}

/** A note as an entry of the transcript, but for its place there. The store keeps it as it is. */
export interface NoteBody {
  readonly kind: string
  readonly [member: string]: Json | undefined
}

/** One note of a turn, to be kept. */
export interface TurnNote {
  /** Which of the turn's it is: a later one of the same name takes its place. */
  readonly name: string
  /** ISO 8601 UTC. */
  readonly at: string
  readonly body: NoteBody
}

/** A note as it is kept. */
export interface KeptNote extends Omit<TurnNote, 'name'> {
  readonly seq: number
  readonly entryId: string
  /** Number of the message whose turn it was noted in. */
  readonly message: number
}

/** For those who watch a turn, as it is noted; a hint that may be lost. */
export interface NoteNotice {
  readonly kind: 'note'
  /** Binds a delegation or an action to its observation; the same in a turn that is tried again. */
  readonly id: string
  readonly body: NoteBody
}

/** The same, of a stage that begins; it ends with its note (`activity`). */
export interface StageNotice {
  readonly kind: 'stage'
  readonly id: string
  readonly stage: string
}

export interface NotesRequest extends Pick<HistoryRequest, 'thread' | 'speakers'> {
  /** Only of turns of messages that came before this one. */
  readonly before: number
  /** The newest so many. */
  readonly limit: number
}

/** What a note does not say itself. */
export interface NoteSetting {
  /** Whose it is where it names nobody. */
  readonly agent_key: string
  readonly turn_id: string
  /** ISO 8601 UTC; for those without a time of their own. */
  readonly at: string
  /** Binds a delegation or an action to its observation. */
  readonly call_id: string
  /** Of an observation: what was called. */
  readonly tool?: string | undefined
  /** Of an observation: it is of a failure. */
  readonly error?: { readonly message: string; readonly code?: string | undefined } | undefined
}

/** @throws Rejection malformed, naming the member that is missing or wrong */
export type ReadNote = (note: AgentNote, setting: NoteSetting) => NoteBody

/** One turn of an agent, wherever what was said and done in it is told: it begins with the message of this number. */
export function formatTurnId(message: number): string {
  return `store-${message}`
}

const maxChars = 32_768

/** What was asked or said, for a note: words and addresses; files are named. */
export function noteTextOf(parts: readonly Part[]): string {
  return clipNoteText(parts.map(describePart).filter(Boolean).join('\n\n'))
}

/** Text of others as it can be kept: not too long, and Unicode. */
export function clipNoteText(text: string): string {
  const clipped = text.length > maxChars ? `${text.slice(0, maxChars)}…` : text
  return clipped.toWellFormed()
}

function describePart(part: Part): string {
  if (isFilePart(part)) return `[${part.name ?? part.description ?? part.mime ?? part.kind}]`
  return plainTextOf([part])
}
