// Collects the notes of a running turn, and stores them before its calls and with its answer.
import type { PartialResponse } from '@postern/message'
import { Rejection } from '@postern/message'
import type { HistoryPolicy } from '../../ports/agent/history-policy.ts'
import type { AgentNote } from '../../ports/records/note.ts'
import { formatTurnId, noteTextOf } from '../../ports/records/note.ts'
import type { Answer } from '../../ports/records/work/answer.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { NotedCall } from './call-notes.ts'
import type { NotesDeps } from './note-writer.ts'
import { createTurnNoteWriter } from './note-writer.ts'
import type { CallEnd } from './open-calls.ts'
import { createOpenCalls } from './open-calls.ts'
import { createTurnStages } from './turn-stages.ts'

/** The notes of a turn that is running. */
export interface TurnNotes {
  /** Adds a note, which is stored soon, at the latest with the answer. @throws Rejection malformed, too_large */
  note(note: AgentNote): void
  /** Begins a stage and ends the previous one. `answer` is the id of the resulting answer. @throws Rejection malformed, too_large */
  stage(name: string, answer: string): void
  /** Returns true if a note of this type has been recorded. */
  has(type: string): boolean
  /** Records the beginning of a call. Resolves once it and all earlier notes are durable. @throws LeaseLost, Unavailable */
  beginCall(call: NotedCall): Promise<CallEnd>
  /** Stores the remaining notes of a turn that has failed. @throws LeaseLost, Unavailable */
  abandon(): Promise<void>
  /** Ends the recording and returns the notes to store with the answer. @throws LeaseLost, Unavailable */
  end(): Promise<NotesEnd> | NotesEnd
}

type NotesEnd = Pick<Answer, 'notes' | 'noteCount'>

/** The maximum number of notes in one turn. An agent that makes more of them has a bug. */
const maxNotes = 500
/** The maximum length of a note as JSON. */
const maxNoteJsonChars = 64 * 1024

/** Records a manager's answer in a phase as its synthesis, unless the manager has recorded one itself. */
export function noteSynthesis(
  { agent, content: { phase_id } }: Turn,
  answer: PartialResponse | undefined,
  { synthesizes }: HistoryPolicy,
  notes: TurnNotes,
): void {
  const content = noteTextOf(answer?.parts ?? [])
  const isCompleted = (answer?.status ?? 'completed') === 'completed' && content !== ''
  if (!synthesizes || phase_id === undefined || !isCompleted || notes.has('synthesis')) return
  notes.note({ type: 'synthesis', content, from_manager: agent, phase_id })
}

export function createTurnNotes(turn: Turn, notesDeps: NotesDeps): TurnNotes {
  const writer = createTurnNoteWriter(turn, notesDeps)
  let openActions: readonly string[] = []
  const calls = createOpenCalls(turn, writer)
  const types = new Set<string>()
  let noteCount = 0
  let hasEnded = false

  function checkQuota(): void {
    if (noteCount >= maxNotes) throw new Rejection('too_large', `Cannot note: more than ${maxNotes} in one turn`)
  }

  const stages = createTurnStages(turn, notesDeps, {
    writer,
    nextNumber() {
      checkQuota()
      noteCount += 1
      return noteCount
    },
  })

  function note(agentNote: AgentNote): void {
    checkQuota()
    const { id, open } = pairNote(agentNote, noteCount + 1, openActions)
    const call_id = `${formatTurnId(turn.message)}${id}`
    writer.add(`note ${noteCount + 1}`, withPhase(agentNote, turn), { call_id }, maxNoteJsonChars)
    noteCount += 1
    types.add(agentNote.type)
    openActions = open
  }

  function endAll(): void {
    hasEnded = true
    stages.end()
    calls.end()
  }

  return {
    note,
    stage(name, answer) {
      if (!hasEnded) stages.begin(name, answer)
    },
    has: type => types.has(type),
    beginCall: calls.begin,
    abandon() {
      endAll()
      return writer.flush()
    },
    async end() {
      endAll()
      const notes = await writer.end()
      const isRetried = turn.token > 1
      return { ...(notes.length > 0 && { notes }), ...(isRetried && { noteCount }) }
    },
  }
}

/** Adds to a manager's synthesis the phase of the message that it answers. */
function withPhase(note: AgentNote, { content }: Turn): AgentNote {
  const { phase_id } = content
  return note.type === 'synthesis' && note.phase_id === undefined && phase_id !== undefined
    ? { ...note, phase_id }
    : note
}

/** Pairs a note with its counterpart by the agent's own id (`call_id`). An observation without an id ends the first open action. */
function pairNote({ type, call_id }: AgentNote, number: number, openActions: readonly string[]) {
  const ownId = typeof call_id === 'string' ? `:${call_id}` : undefined
  if (type !== 'observation') {
    const id = ownId ?? `.note ${number}`
    return { id, open: type === 'action' || type === 'delegation' ? [...openActions, id] : openActions }
  }
  const actionIndex = ownId === undefined ? 0 : openActions.indexOf(ownId)
  return {
    id: openActions[actionIndex] ?? ownId ?? `.note ${number}`,
    open: actionIndex < 0 ? openActions : openActions.toSpliced(actionIndex, 1),
  }
}
