import { hash } from 'node:crypto'
import type { ActionList } from '../actions/plan-actions.ts'
import { keepFiles } from '../actions/plan-actions.ts'
import { TurnAborted } from '../format/errors.ts'
import { createSenderIdentity } from '../message/address/address.ts'
import type { NormalizedMessage } from '../message/message.ts'
import type { Part } from '../message/part.ts'
import type { PartialResponse } from '../message/response.ts'
import { isFilePart, policiesOf } from '../message/response.ts'
import type { TokenUsage } from '../message/token-usage.ts'
import type { TurnPerson } from '../people/person-turn.ts'
import type { AgentContext } from '../ports/agent/agent.ts'
import type { AgentState } from '../ports/agent/agent-state.ts'
import type { HistoryView } from '../ports/agent/history-policy.ts'
import type { RunningAgent, TurnContext } from '../ports/agent/turn-context.ts'
import { findChannel } from '../ports/channel.ts'
import type { Platform } from '../ports/platform/platform.ts'
import { bindLog, startTurnClock } from '../ports/platform/platform.ts'
import type { Turn } from '../ports/records/work.ts'
import type { AgentFault, GivenMessage, ToolRun, TurnAttempt, TurnOutcome } from '../ports/trace/trace.ts'
import type { RequirementList } from '../requirements/requirements.ts'
import { withoutPolicies, withState } from '../requirements/requirements.ts'
import type { AnswerDraft } from './answer.ts'
import { collectAnswer, isInterim } from './answer.ts'
import type { MentionFanoutDeps } from './mentions/mention-fanout.ts'
import { callOtherAgent, joinLocalAgents } from './mentions/mention-fanout.ts'
import { keepPiece, sayMeanwhile } from './notes/streamed-answer.ts'
import type { TurnNotes } from './notes/turn-notes.ts'
import { describeAgentFault } from './trace/agent-fault.ts'
import type { Past, PastScope } from './trace/past-view.ts'
import { viewEarlier } from './trace/past-view.ts'

export interface CallDeps {
  readonly turnContext: TurnContext
  readonly running: RunningAgent
  readonly state: AgentState
  /** The actions of the turn; made when the agent acts. */
  openActs(): ActionList
  /** The requirements of the turn; made when the agent requires something. */
  openRequiring(): RequirementList
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
      parts: kept.some(isFilePart) ? turnContext.presentParts(kept) : [...kept],
      history: [...view.turns],
      ...(turn.content.policy_resolution && withState(turn.content, turnContext.requirements)),
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
  const { parts } = turn.content
  const keeping = parts.some(isFilePart) ? keepFiles(turn, turnContext, signal) : parts
  const fetching = [addBackground(turn, turnContext, signal), keeping] as const
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
  { turnContext, state, openActs, openRequiring, notes, known, draft }: CallDeps,
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
    post: (content, options) => openActs().post(content, options),
    edit: (response, content) => openActs().edit(response, content),
    delete: response => openActs().delete(response),
    react: (reaction, message) => openActs().react(reaction, message),
    requireConsent: requirement => openRequiring().requireConsent(requirement),
    requirePayment: requirement => openRequiring().requirePayment(requirement),
    requireAuth: requirement => openRequiring().requireAuth(requirement),
    refuse: refusal => openRequiring().refuse(refusal),
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

const maxTools = 50

const maxToolName = 100

interface OpenTool {
  readonly name: string
  readonly since: number
  ms?: number
  ok: boolean
}

/** Notes how one attempt at a turn goes. */
export class TurnTrace {
  readonly #now: () => number
  readonly #attempt: number
  readonly #leasedAt: number
  readonly #tools = new Map<string, OpenTool>()
  #given: GivenMessage | undefined
  #calledAt: number | undefined
  #firstOutputAt: number | undefined
  #fault: AgentFault | undefined
  #aborted: TurnOutcome | undefined

  constructor({ attempt }: Pick<Turn, 'attempt'>, { now }: Pick<Platform, 'now'>) {
    this.#now = now
    this.#attempt = attempt
    this.#leasedAt = now()
  }

  /** The agent is called with this. */
  called(given: GivenMessage): void {
    this.#given = given
    this.#calledAt = this.#now()
  }

  /** A piece of its answer has come, or all of it. */
  heard({ parts = [], trace = [] }: PartialResponse): void {
    this.#firstOutputAt ??= this.#now()
    for (const part of [...parts, ...trace]) this.#noteTool(part)
  }

  /** The store has ended it, or another worker has it. */
  endLost(usage: readonly TokenUsage[] | undefined): TurnAttempt {
    const { error: _, ...attempt } = this.end(this.#aborted ?? 'lost', usage)
    return attempt
  }

  failed(error: unknown): void {
    if (error instanceof TurnAborted) this.#aborted = error.kind === 'shutting_down' ? 'shut_down' : error.kind
    this.#fault = describeAgentFault(error)
  }

  /** The attempt as it is kept. `nextAt`: when it is tried again. */
  end(outcome: TurnOutcome, usage: readonly TokenUsage[] | undefined, nextAt?: number): TurnAttempt {
    const tools = [...this.#tools.values()].map(
      ({ name, ms, ok }): ToolRun => ({ name, ...(ms !== undefined && { ms }), ok }),
    )
    return {
      attempt: this.#attempt,
      leased_at: this.#leasedAt,
      ...(this.#calledAt !== undefined && { called_at: this.#calledAt }),
      ...(this.#firstOutputAt !== undefined && { first_output_at: this.#firstOutputAt }),
      ended_at: this.#now(),
      outcome,
      ...(this.#given && { given: this.#given }),
      ...(tools.length > 0 && { tools }),
      ...(usage && usage.length > 0 && { usage }),
      ...(this.#fault && { error: this.#fault }),
      ...(nextAt !== undefined && { next_at: nextAt }),
    }
  }

  /** A call comes twice, when it begins and when it ends; of an agent that tells of it later only once. */
  #noteTool(part: Part): void {
    if (part.kind !== 'tool_call') return
    const known = this.#tools.get(part.id)
    const hasEnded = part.result !== undefined || part.error !== undefined
    const ok = part.error === undefined
    if (known) {
      known.ok = ok
      if (hasEnded) known.ms ??= this.#now() - known.since
    } else if (this.#tools.size < maxTools) {
      this.#tools.set(part.id, { name: part.name.slice(0, maxToolName).toWellFormed(), since: this.#now(), ok })
    }
  }
}

/** What went before, as the agent is given it. `only`: of these entries alone. */
export function viewPast(
  turn: Turn,
  turnContext: TurnContext,
  { history }: Pick<RunningAgent, 'history'>,
  { known, only }: PastScope,
): Past | Promise<Past> {
  if (turn.isFirst && !known) return { view: { turns: [] }, entries: [] }
  return viewEarlier(turn, turnContext, { history }, { known, only })
}

/**
 * What an agent is given, so that it can be built again. Its digest leaves out raw bytes, which are kept as they came, and what only the moment
 * of the call adds: signed addresses of files, and the state of a requirement.
 */
function describeGiven(content: NormalizedMessage, parts: readonly Part[], past: Past): GivenMessage {
  return { history: past.entries, digest: digestGiven(toGiven(content, parts, past)) }
}

export type Given = Omit<NormalizedMessage, 'raw'>

export function toGiven(content: NormalizedMessage, parts: readonly Part[], { view }: Past): Given {
  const given: Record<string, unknown> = {}
  for (const name of Object.keys(content)) {
    // `raw` is read where it is needed, for it is rebuilt from bytes.
    if (name !== 'raw' && name !== 'policy_resolution') given[name] = content[name as keyof NormalizedMessage]
  }
  given.parts = parts
  given.history = view.turns
  return given as unknown as Given
}

/**
 * Its members in one order; within them the order is that of the store, which keeps JSON as it was written. Canonical JSON would cost ten times
 * as much for every message, and does not take whatever a message may hold.
 */
export function digestGiven(given: Given): string {
  const sorted: Record<string, unknown> = {}
  for (const name of Object.keys(given).sort()) sorted[name] = given[name as keyof Given]
  return hash('sha256', JSON.stringify(sorted), 'base64url')
}
