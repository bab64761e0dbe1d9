import { Rejection, TurnAborted, Unavailable, Undeliverable } from '../../format/errors.ts'
import type { AgentCallAnswer } from '../../ports/agent/agent-call.ts'
import type { TurnContext } from '../../ports/agent/turn-context.ts'
import { isoTime } from '../../ports/platform/platform.ts'
import type { AgentNote, NoteNotice, NoteSetting, StageNotice, TurnNote } from '../../ports/records/note.ts'
import { formatTurnId } from '../../ports/records/note.ts'
import type { Answer, Turn } from '../../ports/records/work.ts'
import type { NotedCall } from './call-notes.ts'
import { describeCallFailure, readCallAnswer } from './call-notes.ts'
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

/** Of one call; the first that is told counts. */
interface CallEnd {
  answered(answer: AgentCallAnswer): void
  failed(error: unknown): void
}

/** More in one turn is a mistake. */
const maxNotes = 500
const maxNoteChars = 64 * 1024
const afterTurn = 'Cannot call agent: the turn has ended'

type NotesDeps = Pick<TurnContext, 'store' | 'platform' | 'readNote'>

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
  const writer = createNoteWriter(turn, gateway)
  let openActions: readonly string[] = []
  const openCalls = new Set<CallEnd>()
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

  async function beginCall(call: NotedCall): Promise<CallEnd> {
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
    // Nobody waits for it any more.
    if (hasEnded) throw new Undeliverable(afterTurn)
    return end
  }

  function endCalls(): void {
    hasEnded = true
    stages.end()
    for (const call of [...openCalls]) call.failed(new Unavailable('The turn ended before it answered'))
  }

  return {
    note,
    stage(name, answer) {
      if (!hasEnded) stages.begin(name, answer)
    },
    has: type => types.has(type),
    beginCall,
    abandon() {
      endCalls()
      return writer.flush()
    },
    async end() {
      endCalls()
      const notes = await writer.end()
      const isRetried = turn.token > 1
      return { ...(notes.length > 0 && { notes }), ...(isRetried && { noted }) }
    },
  }
}

interface NoteWriter {
  /** `most`: characters it may have; default: any number. */
  add(name: string, note: AgentNote, setting: Omit<NoteSetting, 'agent_key' | 'turn_id' | 'at'>, most?: number): void
  keep(name: string, id: string, body: TurnNote['body']): void
  flush(): Promise<void>
  /** @returns what is not written yet */
  end(): Promise<readonly TurnNote[]>
}

/** In order, and together what comes together. */
function createNoteWriter(turn: Turn, { store, platform, readNote }: NotesDeps): NoteWriter {
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
    // Told to whoever waits for it, at the end of the turn at the latest.
    written?.catch(() => undefined)
    return written ?? Promise.resolve()
  }

  function keep(name: string, id: string, body: TurnNote['body']): void {
    if (isEnded || !readNote) return
    waiting.push({ name, at: typeof body.at === 'string' ? body.at : isoTime(platform.now()), body })
    tellWatchers(turn, store, { kind: 'note', id, body })
    // An answer that follows at once takes it along.
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
