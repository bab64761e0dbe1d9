import { createSenderIdentity } from './access.ts'
import type { ActList } from './act-list.ts'
import type { AgentContext, AgentState } from './agent.ts'
import { appendPart, collectAnswer, isInterim } from './answer.ts'
import { bindLog } from './bind-log.ts'
import type { DemandList } from './demand-list.ts'
import type { Desk } from './desk.ts'
import { readAbortKind, TurnAborted } from './errors.ts'
import type { HistoryView } from './history.ts'
import type { SiblingRoom, TurnCallRoom } from './joint-turn.ts'
import { createTurnCall, joinSiblings } from './joint-turn.ts'
import type { Json } from './json.ts'
import { keepFiles } from './keep-files.ts'
import type { NormalizedMessage } from './message.ts'
import type { TurnPerson } from './person-turn.ts'
import { findSpeaker, readPast } from './person-turn.ts'
import { readMoment } from './phase.ts'
import type { AnswerDraft } from './plan-answer.ts'
import { planAnswer } from './plan-answer.ts'
import { policiesOf } from './policy-kinds.ts'
import type { PartialResponse } from './response.ts'
import { withoutPolicies, withState } from './settle-demands.ts'
import { settleFiles } from './settle-files.ts'
import { sumUsage } from './token-usage.ts'
import { startTurnClock } from './turn-clock.ts'
import type { TurnNotes } from './turn-notes.ts'
import type { Turn } from './work.ts'
import type { RunningAgent, Working } from './working.ts'

export interface CallParts {
  readonly working: Working
  readonly running: RunningAgent
  readonly state: AgentState
  readonly acts: ActList
  readonly demanding: DemandList
  readonly notes: TurnNotes
  /** Who is speaking, where it is known what he said elsewhere. */
  readonly known: TurnPerson | undefined
  readonly draft: AnswerDraft
  /** Aborts when the process shuts down. */
  readonly stop: AbortSignal
}

/** Who streams what he is doing must not flood the peers with revisions, ms. */
const shortestInterim = 3_000

/** Gives an agent its message and reads its answer to the end, or to the end of its time. */
export async function callAgent(turn: Turn, parts: CallParts): Promise<PartialResponse | undefined> {
  const { working, running, stop } = parts
  const { desk } = working
  const clock = startTurnClock(running.deadlineMs, stop)
  const { signal } = clock
  const unlisten = desk.listen(`message:${turn.message}`, notice => {
    const kind = readAbortKind(notice)
    if (kind) clock.abort(new TurnAborted(kind))
  })
  try {
    const before = Promise.all([addBackground(turn, working, signal), keepFiles(turn, working, signal)])
    const [, kept] = await Promise.race([before, clock.expired])
    const { history } = running
    const speaker = await findSpeaker(turn, working, parts.known)
    const moment = await readMoment(turn, history, desk, speaker)
    const view = history.view(await readPast(turn, history, desk, speaker), moment)
    const message = withMembers(turn.content, {
      parts: working.presentParts(kept),
      history: [...view.turns],
      ...withState(turn.content, working.demands),
    })
    const context = createContext(turn, parts, { signal, view })
    const onChunk = createChunkReader(turn, parts, signal)
    const run = async () => collectAnswer(await running.agent.handle(message, context), onChunk)
    signal.throwIfAborted()
    const said = await Promise.race([run(), clock.expired])
    if (!onChunk.hasRead()) parts.draft.usage = said?.usage
    // Siblings have a time of their own.
    clock.stop()
    return await addSiblings(turn, said, { working, notes: parts.notes, signals: [signal, stop], onChunk })
  } finally {
    unlisten()
    clock.stop()
  }
}

/** What went before is a help, not a condition: without it the agent answers what it sees. */
async function addBackground(turn: Turn, { desk, findChannel, world }: Working, signal: AbortSignal): Promise<void> {
  const channel = turn.attempt === 1 ? findChannel(turn.via) : undefined
  if (!channel?.fetchBackground) return
  try {
    const entries = await channel.fetchBackground(turn, signal)
    if (entries.length > 0) await desk.addBackground(turn, entries)
  } catch (error) {
    world.log.warn({ correlation_id: turn.correlationId, err: error }, 'what went before a message cannot be had')
  }
}

interface ChunkReader {
  (chunk: PartialResponse): Promise<void> | undefined
  /** Whether the answer came in pieces. */
  hasRead(): boolean
}

/** Every piece goes to those who watch; what the agent says meanwhile also to the peer, where the wire can take it back. */
function createChunkReader(turn: Turn, { working, draft, notes }: CallParts, signal: AbortSignal): ChunkReader {
  const { desk, world, findChannel } = working
  const canRevise = findChannel(turn.via)?.addressDeed !== undefined
  let saidAt = Number.NEGATIVE_INFINITY
  let index = 0
  const read = (given: PartialResponse): Promise<void> | undefined => {
    const { stage, ...chunk } = withoutPolicies(given)
    // Throwing here ends the agent's iterator: after its time nobody listens any more.
    signal.throwIfAborted()
    if (stage !== undefined) notes.stage(stage, draft.id)
    keepPiece(draft, chunk)
    // Who listens can tell by the count whether he has heard a run from its beginning.
    const notice = { kind: 'part', chunk, run: turn.token, index, response: draft.id }
    for (const message of [...(turn.merged ?? []), turn.message]) desk.notify(`message:${message}`, notice)
    index += 1
    if (!canRevise || !isInterim(chunk) || world.now() < saidAt + shortestInterim) return undefined
    saidAt = world.now()
    return sayMeanwhile(turn, working, chunk, draft)
  }
  return Object.assign(read, { hasRead: () => index > 0 })
}

/** What there is of an answer that does not come to its end. */
function keepPiece(draft: AnswerDraft, chunk: PartialResponse): void {
  draft.speaker = chunk.speaker ?? draft.speaker
  if (chunk.usage) draft.usage = sumUsage([...(draft.usage ?? []), ...chunk.usage])
  if (!isInterim(chunk)) draft.heard = (chunk.parts ?? []).reduce(appendPart, [...(draft.heard ?? [])])
}

async function sayMeanwhile(turn: Turn, working: Working, chunk: PartialResponse, draft: AnswerDraft): Promise<void> {
  const parts = [...(await settleFiles(chunk.parts ?? [], working.desk))]
  const interim = planAnswer(turn, working, { ...chunk, parts }, draft)
  draft.said = {
    createdAt: interim.response.created_at,
    rendering: draft.said ? draft.said.rendering : interim.rendering,
  }
  await working.desk.say(turn, interim)
}

/** Spreading would call the lazy `raw` getter and parse what few agents read: descriptors carry it over unread. */
function withMembers(
  content: NormalizedMessage,
  members: Pick<NormalizedMessage, 'parts' | 'history' | 'policy_resolution'>,
): NormalizedMessage {
  const descriptors = { ...Object.getOwnPropertyDescriptors(content), ...Object.getOwnPropertyDescriptors(members) }
  return Object.defineProperties({}, descriptors) as NormalizedMessage
}

interface Moment {
  readonly signal: AbortSignal
  readonly view: HistoryView
}

function createContext(
  turn: Turn,
  { working, state, acts, demanding, notes, known, draft }: CallParts,
  { signal, view }: Moment,
): AgentContext {
  return {
    signal,
    history: () => view,
    attachment: part => working.readAttachment(part, signal),
    state,
    thread: turn.thread,
    messageNumber: turn.message,
    call: createAgentCall(turn, working, { signal, notes }),
    note: notes.note,
    stage: name => notes.stage(name, draft.id),
    identity: createSenderIdentity(turn.content.sender),
    ...(known && { person: known.shown }),
    log: bindLog(working.world.log, { correlation_id: turn.correlationId, agent: turn.agent }),
    correlationId: turn.correlationId,
    responseId: draft.id,
    flags: turn.flags,
    post: acts.post,
    edit: acts.edit,
    delete: acts.delete,
    react: acts.react,
    requireConsent: demanding.requireConsent,
    requirePayment: demanding.requirePayment,
    requireAuth: demanding.requireAuth,
    refuse: demanding.refuse,
  }
}

/** Told apart by their order, which is the same when the turn is tried again. */
function createAgentCall(
  turn: Turn,
  working: Working,
  room: Pick<TurnCallRoom, 'signal' | 'notes'>,
): AgentContext['call'] {
  let count = 0
  const nameCall = () => {
    count += 1
    return String(count)
  }
  return createTurnCall(turn, working, { ...room, nameCall })
}

interface SiblingParts extends SiblingRoom {
  readonly onChunk: ChunkReader
}

/** Behind the agent's own parts; those who watch the answer as it comes hear of them, too. */
async function addSiblings(
  turn: Turn,
  said: PartialResponse | undefined,
  { onChunk, ...room }: SiblingParts,
): Promise<PartialResponse | undefined> {
  // What only the sender may decide is nobody else's to hear.
  const isOpen = said && policiesOf(said.parts ?? []).length === 0
  const joined = isOpen ? await joinSiblings(turn, said, room) : []
  if (joined.length === 0) return said
  if (onChunk.hasRead()) await onChunk({ parts: [...joined] })
  return { ...said, parts: [...(said?.parts ?? []), ...joined] }
}

/** An agent's state of a thread; what it sets is written with its answer. */
export function createAgentState(
  turn: Turn,
  desk: Pick<Desk, 'readState'>,
): AgentState & { changed(): Json | undefined } {
  let written: Json | undefined
  return {
    get: async () => (written === undefined ? desk.readState(turn.agent, turn.thread) : written),
    set: value => {
      written = value
    },
    changed: () => written,
  }
}
