import { Rejection, TurnAborted } from '../../format/errors.ts'
import type { AgentNote } from '../../ports/records/note.ts'
import { formatTurnId } from '../../ports/records/note.ts'
import type { Answer, Turn } from '../../ports/records/work.ts'
import type { NotedCall } from './call-notes.ts'
import type { NotesDeps } from './note-writer.ts'
import { createTurnNoteWriter, tellWatchers } from './note-writer.ts'
import type { CallEnd } from './open-calls.ts'
import { createOpenCalls } from './open-calls.ts'
import { createTurnStages } from './turn-stages.ts'

/** The notes of a turn that is running. */
export interface TurnNotes {
  /** Kept soon, with the answer at the latest. @throws Rejection malformed, too_large */
  note(note: AgentNote): void
  /** The agent is at something else from now on; `answer` is the id of what it leads to. @throws Rejection malformed, too_large */
  stage(name: string, answer: string): void
  /** Whether something of this type has been noted. */
  has(type: string): boolean
  /** Durable when it resolves, behind all that was noted before. @throws LeaseLost, Unavailable */
  beginCall(call: NotedCall): Promise<CallEnd>
  /** Keeps now what is not kept yet: the turn has failed. @throws LeaseLost, Unavailable */
  abandon(): Promise<void>
  /** What is to be kept with the answer; nothing is noted after it. @throws LeaseLost, Unavailable */
  end(): Promise<Pick<Answer, 'notes' | 'noted'>>
}

/** More in one turn is a mistake. */
const maxNotes = 500
const maxNoteChars = 64 * 1024

/** Runs a turn with its notes. A failed turn keeps its notes, too, until the next try replaces them. */
export async function runWithNotes(
  turn: Turn,
  turnContext: NotesDeps,
  run: (notes: TurnNotes) => Promise<Answer>,
): Promise<Answer> {
  const notes = createTurnNotes(turn, turnContext)
  try {
    const answer = await run(notes)
    return { ...answer, ...(await notes.end()) }
  } catch (error) {
    if (!(error instanceof TurnAborted)) await notes.abandon().catch(() => undefined)
    throw error
  }
}

/** Allocates nothing worth mentioning for a turn in which nothing is noted. */
function createTurnNotes(turn: Turn, gateway: NotesDeps): TurnNotes {
  const writer = createTurnNoteWriter(turn, gateway)
  let openActions: readonly string[] = []
  const calls = createOpenCalls(turn, writer)
  const types = new Set<string>()
  let noted = 0
  let hasEnded = false

  function checkQuota(): void {
    if (noted >= maxNotes) throw new Rejection('too_large', `Cannot note: more than ${maxNotes} in one turn`)
  }

  const stages = createTurnStages(turn, {
    now: gateway.platform.now,
    take() {
      checkQuota()
      noted += 1
      return noted
    },
    tell: notice => tellWatchers(turn, gateway.store, notice),
    keep: (place, id, body) => writer.keep(`note ${place}`, id, body),
  })

  function note(given: AgentNote): void {
    checkQuota()
    const { id, open } = pairNote(given, noted + 1, openActions)
    const call_id = `${formatTurnId(turn.message)}${id}`
    writer.add(`note ${noted + 1}`, withPhase(given, turn), { call_id }, maxNoteChars)
    noted += 1
    types.add(given.type)
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
      return { ...(notes.length > 0 && { notes }), ...(isRetried && { noted }) }
    },
  }
}

/** A manager's synthesis belongs to the phase of the message it answers. */
function withPhase(note: AgentNote, { content }: Turn): AgentNote {
  const { phase_id } = content
  return note.type === 'synthesis' && note.phase_id === undefined && phase_id !== undefined
    ? { ...note, phase_id }
    : note
}

/** The id that binds a note to its other half: the agent's own (`call_id`), else an observation ends the first open action. */
function pairNote({ type, call_id }: AgentNote, place: number, open: readonly string[]) {
  const own = typeof call_id === 'string' ? `:${call_id}` : undefined
  if (type !== 'observation') {
    const id = own ?? `.note ${place}`
    return { id, open: type === 'action' || type === 'delegation' ? [...open, id] : open }
  }
  const at = own === undefined ? 0 : open.indexOf(own)
  return { id: open[at] ?? own ?? `.note ${place}`, open: at < 0 ? open : open.toSpliced(at, 1) }
}
