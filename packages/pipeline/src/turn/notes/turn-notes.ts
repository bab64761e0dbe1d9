// Collects the notes of a running turn, and stores them before its calls and with its answer.
import type { PartialResponse } from '@postern/message'
import { isoTime, isStageName, Rejection, toWellFormed, Unavailable, Undeliverable } from '@postern/message'
import type { AgentCallAnswer } from '../../ports/agent/agent-call.ts'
import type { HistoryPolicy } from '../../ports/agent/history-policy.ts'
import type { AgentNote, NoteContext, NoteNotice, StageNotice, TurnNote } from '../../ports/records/note.ts'
import { formatTurnId, noteTextOf } from '../../ports/records/note.ts'
import type { Answer } from '../../ports/records/work/answer.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { TurnContext } from '../../ports/turn/turn-context.ts'
import type { NotedCall } from './call-notes.ts'
import { describeCallFailure, readCallAnswer } from './call-notes.ts'

/** The notes of a turn that is running. */
export interface TurnNotes {
  /** Adds a note, which is stored soon, at the latest with the answer. @throws Rejection malformed, too_large */
  note(note: AgentNote): void
  /** Begins a stage and ends the one before it. `answer` is the id of the answer that it leads to. @throws Rejection malformed, too_large */
  stage(name: string, answer: string): void
  /** Returns true if a note of this type has been recorded. */
  has(type: string): boolean
  /** Records the beginning of a call. Resolves once it and all earlier notes are durable. @throws LeaseLost, Unavailable */
  beginCall(call: NotedCall): Promise<CallEnd>
  /** Stores the remaining notes of a turn that has failed. @throws LeaseLost, Unavailable */
  abandon(): Promise<void>
  /** Ends the recording and returns the notes to store with the answer. @throws LeaseLost, Unavailable */
  end(): Promise<Pick<Answer, 'notes' | 'noteCount'>>
}

/** The maximum number of notes in one turn; more of them are a mistake. */
const maxNotes = 500
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

type NotesDeps = Pick<TurnContext, 'store' | 'system' | 'readNote'>

interface TurnNoteWriter {
  /** Formats and adds a note. `maxChars` is the maximum length; default: any length. */
  add(
    name: string,
    note: AgentNote,
    noteContext: Omit<NoteContext, 'agent_key' | 'turn_id' | 'at'>,
    maxChars?: number,
  ): void
  /** Adds a formatted note. `id` is the id under which watchers of the turn receive it and a chat shows it. */
  addFormatted(name: string, id: string, body: TurnNote['body']): void
  flush(): Promise<void>
  /** Ends the writing. @returns the notes that are not written yet */
  end(): Promise<readonly TurnNote[]>
}

/** Creates a writer that stores notes in order. Notes that arrive together are stored with one write. */
function createTurnNoteWriter(turn: Turn, { store, system, readNote }: NotesDeps): TurnNoteWriter {
  let waitingNotes: TurnNote[] = []
  let lastWrite: Promise<void> | undefined
  let scheduledFlush: ReturnType<typeof setImmediate> | undefined
  let isEnded = false

  async function writeWaiting(): Promise<void> {
    const notes = waitingNotes
    waitingNotes = []
    if (notes.length > 0) await store.note(turn, notes)
  }

  function flush(): Promise<void> {
    clearImmediate(scheduledFlush)
    scheduledFlush = undefined
    if (waitingNotes.length > 0) lastWrite = (lastWrite ?? Promise.resolve()).then(writeWaiting)
    // The caller sees the error when it waits, at the latest at the end of the turn.
    lastWrite?.catch(() => undefined)
    return lastWrite ?? Promise.resolve()
  }

  function addFormatted(name: string, id: string, body: TurnNote['body']): void {
    if (isEnded || !readNote) return
    const storedBody = { ...body, message_id: id }
    waitingNotes.push({ name, at: typeof body.at === 'string' ? body.at : isoTime(system.now()), body: storedBody })
    notifyWatchers(turn, store, { kind: 'note', id, body })
    // The delay lets an answer that follows at once be written together with the note.
    scheduledFlush ??= setImmediate(() => void flush())
  }

  return {
    addFormatted,
    add(name, note, noteContext, maxChars = Number.POSITIVE_INFINITY) {
      if (isEnded || !readNote) return
      const now = isoTime(system.now())
      const body = readNote(toWellFormed(note), {
        agent_key: turn.agent,
        turn_id: formatTurnId(turn.message),
        at: now,
        ...noteContext,
      })
      checkSize(body, maxChars)
      addFormatted(name, noteContext.call_id, body)
    },
    flush,
    async end() {
      isEnded = true
      clearImmediate(scheduledFlush)
      await lastWrite
      return waitingNotes
    },
  }
}

function notifyWatchers(
  { message, merged = [] }: Turn,
  store: NotesDeps['store'],
  notice: NoteNotice | StageNotice,
): void {
  for (const number of [...merged, message]) store.notify(`message:${number}`, notice)
}

function checkSize(body: TurnNote['body'], maxChars: number): void {
  if (JSON.stringify(body).length <= maxChars) return
  throw new Rejection('too_large', `Cannot note: longer than ${maxChars} characters`)
}

interface StageDeps {
  readonly writer: TurnNoteWriter
  /** Returns the number of the next note of the turn. @throws Rejection too_large */
  nextNumber(): number
}

/** Creates the record of a turn's stages, which its agent names one after another. Each stage is stored when it ends, with its duration. */
function createTurnStages(turn: Turn, { system, store }: NotesDeps, { writer, nextNumber }: StageDeps) {
  let openStage:
    | { readonly stage: string; readonly answer: string; readonly number: number; readonly startedAt: number }
    | undefined
  const formatNoteId = (number: number) => `${formatTurnId(turn.message)}.note ${number}`

  function end(): void {
    if (!openStage) return
    const { stage, answer, number, startedAt: from } = openStage
    openStage = undefined
    writer.addFormatted(`note ${number}`, formatNoteId(number), {
      kind: 'activity',
      role: 'system',
      scope: 'agent',
      agent_key: turn.agent,
      content: { value: { stage } },
      turn_id: formatTurnId(turn.message),
      stage,
      latency_ms: Math.max(0, Math.round(system.now() - from)),
      metadata: { message_id: answer },
    })
  }

  return {
    /** Begins a stage and ends the one before it. `answer` is the id of the resulting answer. @throws Rejection malformed, too_large */
    begin(stage: string, answer: string) {
      if (!isStageName(stage)) {
        throw new Rejection(
          'malformed',
          'Cannot begin stage: its name is no text of 1 to 64 letters, digits and "_-. "',
        )
      }
      end()
      openStage = { stage, answer, number: nextNumber(), startedAt: system.now() }
      notifyWatchers(turn, store, { kind: 'stage', id: formatNoteId(openStage.number), stage })
    },
    end,
  }
}

/** The functions that report the end of one call. Only the first report counts. */
interface CallEnd {
  recordAnswer(answer: AgentCallAnswer): void
  recordFailure(error: unknown): void
}

const turnEndedMessage = 'Cannot call agent: the turn has ended'

/** Creates the record of the unfinished calls of a turn. */
function createOpenCalls(turn: Turn, writer: TurnNoteWriter) {
  const openCalls = new Set<CallEnd>()
  let hasEnded = false

  /** Records the beginning of a call. @throws Undeliverable if the turn has ended; LeaseLost, Unavailable */
  async function begin(call: NotedCall): Promise<CallEnd> {
    if (hasEnded) throw new Undeliverable(turnEndedMessage)
    const { name, worker, task, agentKey: agent_key } = call
    const call_id = `${formatTurnId(turn.message)}.${name}`
    writer.add(`call ${name}`, { type: 'delegation', worker, task, agent_key }, { call_id })
    const end: CallEnd = {
      recordAnswer: answer => finish(readCallAnswer(answer)),
      recordFailure: error => finish(describeCallFailure(error)),
    }
    function finish({ content, error }: ReturnType<typeof readCallAnswer>): void {
      if (!openCalls.delete(end)) return
      writer.add(`end ${name}`, { type: 'observation', content, agent_key }, { call_id, tool: 'delegate', error })
      if (!call.isBroadcast || error) return
      writer.add(`told ${name}`, { type: 'global_observation', content, from_worker: worker }, { call_id })
    }
    openCalls.add(end)
    await writer.flush()
    // The turn ended during the write.
    if (hasEnded) throw new Undeliverable(turnEndedMessage)
    return end
  }

  return {
    begin,
    /** Fails every open call, because the turn has ended. */
    end() {
      hasEnded = true
      for (const call of [...openCalls]) call.recordFailure(new Unavailable('The turn ended before it answered'))
    },
  }
}
