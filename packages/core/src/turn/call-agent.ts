import type { ActionList } from '../actions/plan-actions.ts'
import { keepFiles, settleFiles } from '../actions/plan-actions.ts'
import type { Json } from '../format/notations.ts'
import { createSenderIdentity } from '../message/address/access.ts'
import type { NormalizedMessage } from '../message/message.ts'
import type { PartialResponse } from '../message/response.ts'
import { policiesOf } from '../message/response.ts'
import { sumUsage } from '../message/token-usage.ts'
import type { TurnPerson } from '../people/person-turn.ts'
import type { AgentContext } from '../ports/agent/agent.ts'
import type { AgentState } from '../ports/agent/agent-state.ts'
import type { HistoryView } from '../ports/agent/history-policy.ts'
import type { RunningAgent, TurnContext } from '../ports/agent/turn-context.ts'
import { findChannel } from '../ports/channel.ts'
import { bindLog, startTurnClock } from '../ports/platform/platform.ts'
import type { Turn } from '../ports/records/work.ts'
import type { Store } from '../ports/store.ts'
import type { RequirementList } from '../requirements/requirements.ts'
import { withoutPolicies, withState } from '../requirements/requirements.ts'
import type { AnswerDraft } from './answer.ts'
import { appendPart, collectAnswer, isInterim, planAnswer } from './answer.ts'
import type { MentionFanoutDeps } from './mentions/mention-fanout.ts'
import { callOtherAgent, joinLocalAgents } from './mentions/mention-fanout.ts'
import type { TurnNotes } from './notes/turn-notes.ts'
import type { TurnTrace } from './trace/turn-trace.ts'
import { describeGiven, viewPast } from './trace/turn-trace.ts'

export interface CallDeps {
  readonly turnContext: TurnContext
  readonly running: RunningAgent
  readonly state: AgentState
  readonly acts: ActionList
  readonly requiring: RequirementList
  readonly notes: TurnNotes
  /** The person who speaks, where their other conversations may be known. */
  readonly known: TurnPerson | undefined
  readonly draft: AnswerDraft
  readonly trace: TurnTrace
  /** Aborts when the process shuts down. */
  readonly stop: AbortSignal
  /** Aborts when the store has ended the turn. */
  readonly ended: AbortSignal
}

/** The least time between two revisions, ms: a streaming agent must not flood the peers. */
const shortestInterim = 3_000

/** Gives an agent its message and reads its answer to the end, or to the end of its time. */
export async function callAgent(turn: Turn, parts: CallDeps): Promise<PartialResponse | undefined> {
  const { turnContext, running, stop, ended } = parts
  const clock = startTurnClock(running.deadlineMs, [stop, ended])
  const { signal } = clock
  try {
    const { hasBackground, kept } = bringsMore(turn, turnContext)
      ? await clock.limit(fetchMore(turn, turnContext, signal))
      : { hasBackground: false, kept: turn.content.parts }
    const seen = viewPast(hasBackground ? { ...turn, isFirst: false } : turn, turnContext, running, parts)
    const past = seen instanceof Promise ? await seen : seen
    const { view } = past
    const message = withMembers(turn.content, {
      parts: turnContext.presentParts(kept),
      history: [...view.turns],
      ...withState(turn.content, turnContext.requirements),
    })
    const context = createContext(turn, parts, { signal, view })
    const onChunk = createChunkReader(turn, parts, signal)
    const run = async () => collectAnswer(await running.agent.handle(message, context), onChunk)
    signal.throwIfAborted()
    parts.trace.called(describeGiven(turn.content, kept, past))
    const said = await clock.limit(run())
    if (!onChunk.hasRead()) parts.draft.usage = said?.usage
    if (said) parts.trace.heard(said)
    // Siblings have a time of their own.
    clock.stop()
    return await addLocalAgents(turn, said, { turnContext, notes: parts.notes, signals: [signal, stop], onChunk })
  } finally {
    clock.stop()
  }
}

/** Whether something is fetched before the agent is called. */
function bringsMore({ attempt, via, content }: Turn, { channels, fetchFile }: TurnContext): boolean {
  const hasFiles = fetchFile !== undefined && content.parts.some(({ kind }) => kind === 'file')
  return hasFiles || (attempt === 1 && findChannel(channels, via)?.fetchBackground !== undefined)
}

async function fetchMore(turn: Turn, turnContext: TurnContext, signal: AbortSignal) {
  const fetching = [addBackground(turn, turnContext, signal), keepFiles(turn, turnContext, signal)] as const
  const [hasBackground, kept] = await Promise.all(fetching)
  return { hasBackground, kept }
}

/** The background is optional: without it the agent answers what it sees. @returns whether there may be any */
async function addBackground(
  turn: Turn,
  { store, channels, platform }: TurnContext,
  signal: AbortSignal,
): Promise<boolean> {
  const channel = turn.attempt === 1 ? findChannel(channels, turn.via) : undefined
  if (!channel?.fetchBackground) return false
  try {
    const entries = await channel.fetchBackground(turn, signal)
    if (entries.length > 0) await store.addBackground(turn, entries)
    return entries.length > 0
  } catch (error) {
    platform.log.warn({ correlation_id: turn.correlationId, err: error }, 'what went before a message cannot be had')
    return true
  }
}

interface ChunkReader {
  (chunk: PartialResponse): Promise<void> | undefined
  /** Whether the answer came in pieces. */
  hasRead(): boolean
}

/** Every piece goes to those who watch; what the agent says meanwhile also to the peer, where the wire can take it back. */
function createChunkReader(
  turn: Turn,
  { turnContext, draft, notes, trace }: CallDeps,
  signal: AbortSignal,
): ChunkReader {
  const { store, platform, channels } = turnContext
  const canRevise = findChannel(channels, turn.via)?.addressAction !== undefined
  let saidAt = Number.NEGATIVE_INFINITY
  let index = 0
  const read = (given: PartialResponse): Promise<void> | undefined => {
    const { stage, ...chunk } = withoutPolicies(given)
    // A throw here ends the agent's iterator: after its time nobody reads the pieces.
    signal.throwIfAborted()
    if (stage !== undefined) notes.stage(stage, draft.id)
    keepPiece(draft, chunk)
    trace.heard(chunk)
    // By the count a watcher knows whether it has seen a run from its beginning.
    const notice = { kind: 'part', chunk, run: turn.token, index, response: draft.id }
    for (const message of [...(turn.merged ?? []), turn.message]) store.notify(`message:${message}`, notice)
    index += 1
    if (!canRevise || !isInterim(chunk) || platform.now() < saidAt + shortestInterim) return undefined
    saidAt = platform.now()
    return sayMeanwhile(turn, turnContext, chunk, draft)
  }
  return Object.assign(read, { hasRead: () => index > 0 })
}

/** What there is of an answer that does not come to its end. */
function keepPiece(draft: AnswerDraft, chunk: PartialResponse): void {
  draft.speaker = chunk.speaker ?? draft.speaker
  if (chunk.usage) draft.usage = sumUsage([...(draft.usage ?? []), ...chunk.usage])
  if (!isInterim(chunk)) draft.heard = (chunk.parts ?? []).reduce(appendPart, [...(draft.heard ?? [])])
}

async function sayMeanwhile(
  turn: Turn,
  turnContext: TurnContext,
  chunk: PartialResponse,
  draft: AnswerDraft,
): Promise<void> {
  const parts = [...(await settleFiles(chunk.parts ?? [], turnContext.store))]
  const interim = planAnswer(turn, turnContext, { ...chunk, parts }, draft)
  draft.said = {
    createdAt: interim.response.created_at,
    rendering: draft.said ? draft.said.rendering : interim.rendering,
  }
  await turnContext.store.say(turn, interim)
}

/** Spreading would call the lazy `raw` getter and parse what few agents read: a getter of its own carries it over unread. */
function withMembers(
  content: NormalizedMessage,
  members: Pick<NormalizedMessage, 'parts' | 'history' | 'policy_resolution'>,
): NormalizedMessage {
  const given: Record<string, unknown> = {}
  for (const name of Object.keys(content)) {
    if (name === 'raw')
      Object.defineProperty(given, name, { get: () => content.raw, enumerable: true, configurable: true })
    else given[name] = content[name as keyof NormalizedMessage]
  }
  return Object.assign(given, members) as unknown as NormalizedMessage
}

interface Moment {
  readonly signal: AbortSignal
  readonly view: HistoryView
}

function createContext(
  turn: Turn,
  { turnContext, state, acts, requiring, notes, known, draft }: CallDeps,
  { signal, view }: Moment,
): AgentContext {
  let calls = 0
  return {
    signal,
    history: () => view,
    attachment: part => turnContext.readAttachment(part, signal),
    state,
    thread: turn.thread,
    messageNumber: turn.message,
    // Told apart by their order, which is the same when the turn is tried again.
    call: (...asked) => callOtherAgent(turn, turnContext, { signal, notes, place: String(++calls) }, ...asked),
    note: notes.note,
    stage: name => notes.stage(name, draft.id),
    identity: createSenderIdentity(turn.content.sender),
    ...(known && { person: known.shown }),
    log: bindLog(turnContext.platform.log, { correlation_id: turn.correlationId, agent: turn.agent }),
    correlationId: turn.correlationId,
    ...(turnContext.traceparentOf && { traceparent: turnContext.traceparentOf(turn) }),
    responseId: draft.id,
    flags: turn.flags,
    post: acts.post,
    edit: acts.edit,
    delete: acts.delete,
    react: acts.react,
    requireConsent: requiring.requireConsent,
    requirePayment: requiring.requirePayment,
    requireAuth: requiring.requireAuth,
    refuse: requiring.refuse,
  }
}

interface MentionFanoutCall extends MentionFanoutDeps {
  readonly onChunk: ChunkReader
}

/** Behind the agent's own parts; those who watch the answer as it comes hear of them, too. */
async function addLocalAgents(
  turn: Turn,
  said: PartialResponse | undefined,
  { onChunk, ...room }: MentionFanoutCall,
): Promise<PartialResponse | undefined> {
  if (!said?.mentions?.length) return said
  // What only the sender may decide is nobody else's to hear.
  const isOpen = policiesOf(said.parts ?? []).length === 0
  const joined = isOpen ? await joinLocalAgents(turn, said, room) : []
  if (joined.length === 0) return said
  if (onChunk.hasRead()) await onChunk({ parts: [...joined] })
  return { ...said, parts: [...(said.parts ?? []), ...joined] }
}

/** An agent's state of a thread; what it sets is written with its answer. */
export function createAgentState(
  turn: Turn,
  store: Pick<Store, 'readState'>,
): AgentState & { changed(): Json | undefined } {
  let written: Json | undefined
  return {
    get: async () => (written === undefined ? store.readState(turn.agent, turn.thread) : written),
    set: value => {
      written = value
    },
    changed: () => written,
  }
}
