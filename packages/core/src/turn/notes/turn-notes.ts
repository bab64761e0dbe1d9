import { Rejection, Unavailable, Undeliverable } from '../../format/errors.ts'
import type { PartialResponse } from '../../message/response.ts'
import { isStageName } from '../../message/response.ts'
import type { AgentCallAnswer } from '../../ports/agent/agent-call.ts'
import type { HistoryPolicy } from '../../ports/agent/history-policy.ts'
import type { TurnContext } from '../../ports/agent/turn-context.ts'
import { isoTime } from '../../ports/platform/platform.ts'
import type { AgentNote, NoteNotice, NoteSetting, StageNotice, TurnNote } from '../../ports/records/note.ts'
import { formatTurnId, noteTextOf } from '../../ports/records/note.ts'
import type { Answer, Turn } from '../../ports/records/work.ts'
import type { NotedCall } from './call-notes.ts'
import { describeCallFailure, readCallAnswer } from './call-notes.ts'

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

/** A manager's answer in a phase is its synthesis, unless the manager has noted one itself. */
export function noteSynthesis(
  { agent, content: { phase_id } }: Turn,
  said: PartialResponse | undefined,
  { synthesizes }: HistoryPolicy,
  notes: TurnNotes,
): void {
  const content = noteTextOf(said?.parts ?? [])
  const isDone = (said?.status ?? 'completed') === 'completed' && content !== ''
  if (!synthesizes || phase_id === undefined || !isDone || notes.has('synthesis')) return
  notes.note({ type: 'synthesis', content, from_manager: agent, phase_id })
}

export function createTurnNotes(turn: Turn, gateway: NotesDeps): TurnNotes {
  const writer = createTurnNoteWriter(turn, gateway)
  let openActions: readonly string[] = []
  const calls = createOpenCalls(turn, writer)
  const types = new Set<string>()
  let noted = 0
  let hasEnded = false

  function checkQuota(): void {
    if (noted >= maxNotes) throw new Rejection('too_large', `Cannot note: more than ${maxNotes} in one turn`)
  }

  const stages = createTurnStages(turn, gateway, {
    writer,
    takePlace() {
      checkQuota()
      noted += 1
      return noted
    },
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

type NotesDeps = Pick<TurnContext, 'store' | 'platform' | 'readNote'>

interface TurnNoteWriter {
  /** `most`: the maximum of characters; default: any number. */
  add(name: string, note: AgentNote, setting: Omit<NoteSetting, 'agent_key' | 'turn_id' | 'at'>, most?: number): void
  keep(name: string, id: string, body: TurnNote['body']): void
  flush(): Promise<void>
  /** @returns what is not written yet */
  end(): Promise<readonly TurnNote[]>
}

/** Writes notes in their order; notes that come together are one write. */
function createTurnNoteWriter(turn: Turn, { store, platform, readNote }: NotesDeps): TurnNoteWriter {
  let waiting: TurnNote[] = []
  let written: Promise<void> | undefined
  let later: ReturnType<typeof setImmediate> | undefined
  let isEnded = false

  async function writeWaiting(): Promise<void> {
    const notes = waiting
    waiting = []
    if (notes.length > 0) await store.note(turn, notes)
  }

  function flush(): Promise<void> {
    clearImmediate(later)
    later = undefined
    if (waiting.length > 0) written = (written ?? Promise.resolve()).then(writeWaiting)
    // A caller that waits sees the error, at the end of the turn at the latest.
    written?.catch(() => undefined)
    return written ?? Promise.resolve()
  }

  function keep(name: string, id: string, body: TurnNote['body']): void {
    if (isEnded || !readNote) return
    waiting.push({ name, at: typeof body.at === 'string' ? body.at : isoTime(platform.now()), body })
    tellWatchers(turn, store, { kind: 'note', id, body })
    // An answer that follows at once is written together with it.
    later ??= setImmediate(() => void flush())
  }

  return {
    keep,
    add(name, note, setting, most = Number.POSITIVE_INFINITY) {
      if (isEnded || !readNote) return
      const now = isoTime(platform.now())
      const body = readNote(note, { agent_key: turn.agent, turn_id: formatTurnId(turn.message), at: now, ...setting })
      checkSize(body, most)
      keep(name, setting.call_id, body)
    },
    flush,
    async end() {
      isEnded = true
      clearImmediate(later)
      await written
      return waiting
    },
  }
}

function tellWatchers(
  { message, merged = [] }: Turn,
  store: NotesDeps['store'],
  notice: NoteNotice | StageNotice,
): void {
  for (const each of [...merged, message]) store.notify(`message:${each}`, notice)
}

function checkSize(body: TurnNote['body'], most: number): void {
  if (JSON.stringify(body).length <= most) return
  throw new Rejection('too_large', `Cannot note: longer than ${most} characters`)
}

interface StageDeps {
  readonly writer: TurnNoteWriter
  /** A place among the turn's notes. @throws Rejection too_large */
  takePlace(): number
}

/** The stages of a turn, one after the other, as its agent names them. Each is kept when it is over, with the time it took. */
function createTurnStages(turn: Turn, { platform, store }: NotesDeps, { writer, takePlace }: StageDeps) {
  let open:
    | { readonly stage: string; readonly answer: string; readonly place: number; readonly from: number }
    | undefined
  const idOf = (place: number) => `${formatTurnId(turn.message)}.note ${place}`

  function end(): void {
    if (!open) return
    const { stage, answer, place, from } = open
    open = undefined
    writer.keep(`note ${place}`, idOf(place), {
      kind: 'activity',
      role: 'system',
      scope: 'agent',
      agent_key: turn.agent,
      content: { value: { stage } },
      turn_id: formatTurnId(turn.message),
      stage,
      latency_ms: Math.max(0, Math.round(platform.now() - from)),
      metadata: { message_id: answer },
    })
  }

  return {
    /** Ends the one before it. `answer`: id of the answer it leads to. @throws Rejection malformed, too_large */
    begin(stage: string, answer: string) {
      if (!isStageName(stage)) {
        throw new Rejection(
          'malformed',
          'Cannot begin stage: its name is no text of 1 to 64 letters, digits and "_-. "',
        )
      }
      end()
      open = { stage, answer, place: takePlace(), from: platform.now() }
      tellWatchers(turn, store, { kind: 'stage', id: idOf(open.place), stage })
    },
    end,
  }
}

/** The end of one call; the first report counts. */
interface CallEnd {
  answered(answer: AgentCallAnswer): void
  failed(error: unknown): void
}

const afterTurn = 'Cannot call agent: the turn has ended'

/** The calls of a turn that have no end yet. */
function createOpenCalls(turn: Turn, writer: TurnNoteWriter) {
  const openCalls = new Set<CallEnd>()
  let hasEnded = false

  /** @throws Undeliverable when the turn has ended; LeaseLost, Unavailable */
  async function begin(call: NotedCall): Promise<CallEnd> {
    if (hasEnded) throw new Undeliverable(afterTurn)
    const { name, worker, task, agentKey: agent_key } = call
    const call_id = `${formatTurnId(turn.message)}.${name}`
    writer.add(`call ${name}`, { type: 'delegation', worker, task, agent_key }, { call_id })
    const end: CallEnd = {
      answered: answer => finish(readCallAnswer(answer)),
      failed: error => finish(describeCallFailure(error)),
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
    if (hasEnded) throw new Undeliverable(afterTurn)
    return end
  }

  return {
    begin,
    /** The turn has ended: every open call has failed. */
    end() {
      hasEnded = true
      for (const call of [...openCalls]) call.failed(new Unavailable('The turn ended before it answered'))
    },
  }
}
