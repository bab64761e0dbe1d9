import type { Agent, AgentContext, AgentState, AttachmentBytes } from './agent.ts'
import { collectAnswer, completeResponse, failedAnswer } from './answer.ts'
import type { Desk } from './desk.ts'
import { LeaseLost, Unavailable } from './errors.ts'
import type { HistoryPolicy, HistoryView } from './history.ts'
import type { Json } from './json.ts'
import type { ChannelName, NormalizedMessage } from './message.ts'
import type { ArtifactPart, FilePart, Part } from './part.ts'
import type { Channel } from './protocol.ts'
import type { NormalizedResponse, PartialResponse } from './response.ts'
import type { RetryPolicy } from './retry.ts'
import { describeFailure, settlementFor } from './retry.ts'
import { startTurnClock } from './turn-clock.ts'
import type { Answer, Turn } from './work.ts'
import type { Log, World } from './world.ts'
import { isoTime, randomHex } from './world.ts'

export interface RunningAgent {
  readonly agent: Agent
  readonly history: HistoryPolicy
  /** Longest time for one turn, ms. */
  readonly deadlineMs: number
}

export interface Working {
  readonly desk: Desk
  readonly world: Pick<World, 'now' | 'randomBytes' | 'log'>
  readonly retry: RetryPolicy
  /** A turn that was begun this often without an end (a crash each time) is answered as failed, unrun. */
  readonly maxCrashes: number
  findAgent(name: string): RunningAgent | undefined
  findChannel(name: ChannelName): Channel | undefined
  /** Adds what only the moment of the call can: signed addresses of attachments. */
  presentParts(parts: readonly Part[]): Part[]
  readAttachment(part: FilePart | ArtifactPart, signal: AbortSignal): Promise<AttachmentBytes>
}

/** history → agent.handle → commit. `stop` aborts when the process shuts down: the turn is then given back. */
export async function workTurn(turn: Turn, working: Working, stop: AbortSignal): Promise<void> {
  const { desk, world, retry } = working
  try {
    const answer = await answerTurn(turn, working, stop)
    await commitAnswer(turn, answer, working)
    world.log.info(
      { correlation_id: turn.correlationId, message: turn.message, agent: turn.agent, status: answer.response?.status },
      'turn committed',
    )
  } catch (error) {
    if (stop.aborted) return desk.release(turn, { dueAt: world.now(), uncounted: true })
    if (!(error instanceof Unavailable)) throw error
    const failed = {
      error,
      attempt: turn.attempt,
      queuedAt: Date.parse(turn.content.received_at),
      now: world.now(),
      chance: (world.randomBytes(1)[0] ?? 0) / 256,
    }
    const settlement = settlementFor(failed, retry)
    if (settlement.state !== 'later') return commitFailure(turn, working, error)
    world.log.warn(
      { correlation_id: turn.correlationId, agent: turn.agent, err: error, due_at: isoTime(settlement.dueAt) },
      'agent unavailable',
    )
    await desk.release(turn, { dueAt: settlement.dueAt, error: settlement.error })
  }
}

/** What cannot be stored (an answer that is not JSON) is the agent's failure, not a reason to run it again. */
async function commitAnswer(turn: Turn, answer: Answer, working: Working): Promise<void> {
  try {
    await working.desk.commit(turn, answer)
  } catch (error) {
    if (error instanceof LeaseLost || error instanceof Unavailable) throw error
    const { correlationId, agent } = turn
    working.world.log.error({ correlation_id: correlationId, agent, err: error }, 'answer cannot be stored')
    await working.desk.commit(turn, failTurn(turn, working, 'the answer cannot be stored'))
  }
}

async function answerTurn(turn: Turn, working: Working, stop: AbortSignal): Promise<Answer> {
  const running = working.findAgent(turn.agent)
  if (!running || turn.crashes >= working.maxCrashes) {
    return failTurn(
      turn,
      working,
      running ? `gave up after ${working.maxCrashes} crashes` : 'there is no such agent any more',
    )
  }
  const state = createAgentState(turn, working.desk)
  try {
    const partial = await callAgent(turn, running, working, state, stop)
    return { ...(partial ? answerWith(turn, working, partial) : { deliveries: [] }), state: state.changed() }
  } catch (error) {
    if (stop.aborted || error instanceof Unavailable) throw error
    working.world.log.error({ correlation_id: turn.correlationId, agent: turn.agent, err: error }, 'agent failed')
    return failTurn(turn, working, error instanceof Error ? error.message : 'agent failed')
  }
}

async function callAgent(
  turn: Turn,
  { agent, history, deadlineMs }: RunningAgent,
  working: Working,
  state: AgentState,
  stop: AbortSignal,
): Promise<PartialResponse | undefined> {
  const { desk, world } = working
  const clock = startTurnClock(deadlineMs, stop)
  const { signal } = clock
  const unlisten = desk.listen(`message:${turn.message}`, notice => {
    if ((notice as { kind?: string }).kind === 'canceled') clock.abort(new Error('canceled'))
  })
  try {
    const view = history.view(await desk.readHistory({ thread: turn.thread, before: turn.message, ...history.reach }))
    const message = withMembers(turn.content, {
      parts: working.presentParts(turn.content.parts),
      history: [...view.turns],
    })
    const context = createContext(turn, working, { signal, view, state, log: bindLog(world.log, turn) })
    const onChunk = (chunk: PartialResponse) => {
      // Throwing here ends the agent's iterator: after its time nobody listens any more.
      signal.throwIfAborted()
      desk.notify(`message:${turn.message}`, { kind: 'part', chunk })
    }
    const run = async () => collectAnswer(await agent.handle(message, context), onChunk)
    signal.throwIfAborted()
    return await Promise.race([run(), clock.expired])
  } finally {
    unlisten()
    clock.stop()
  }
}

/** Spreading would call the lazy `raw` getter and parse what few agents read: descriptors carry it over unread. */
function withMembers(
  content: NormalizedMessage,
  members: Pick<NormalizedMessage, 'parts' | 'history'>,
): NormalizedMessage {
  const descriptors = { ...Object.getOwnPropertyDescriptors(content), ...Object.getOwnPropertyDescriptors(members) }
  return Object.defineProperties({}, descriptors) as NormalizedMessage
}

interface ContextParts {
  readonly signal: AbortSignal
  readonly view: HistoryView
  readonly state: AgentState
  readonly log: Log
}

function createContext(turn: Turn, working: Working, { signal, view, state, log }: ContextParts): AgentContext {
  return {
    signal,
    history: () => view,
    attachment: part => working.readAttachment(part, signal),
    state,
    log,
    correlationId: turn.correlationId,
  }
}

function createAgentState(turn: Turn, desk: Desk): AgentState & { changed(): Json | undefined } {
  let written: Json | undefined
  return {
    get: async () => (written === undefined ? desk.readState(turn.agent, turn.thread) : written),
    set: value => {
      written = value
    },
    changed: () => written,
  }
}

function answerWith(turn: Turn, working: Working, partial: PartialResponse): Answer {
  const response = completeAnswer(turn, working, partial)
  const addressing = working.findChannel(turn.via)?.address({ turn, response })
  const { deliveries = [], aliases = [], isListed } = addressing ?? {}
  return { response, deliveries, aliases, ...(isListed && { isListed }) }
}

function completeAnswer(turn: Turn, { world }: Working, partial: PartialResponse): NormalizedResponse {
  return completeResponse(partial, turn, { id: randomHex(world, 16), createdAt: isoTime(world.now()) })
}

/** A channel that cannot address even this must not keep the turn from ending. */
function failTurn(turn: Turn, working: Working, error: string): Answer {
  const failed = failedAnswer(turn.correlationId)
  try {
    return { ...answerWith(turn, working, failed), error }
  } catch (cause) {
    working.world.log.error({ correlation_id: turn.correlationId, via: turn.via, err: cause }, 'answer not addressable')
    return { response: completeAnswer(turn, working, failed), deliveries: [], error }
  }
}

async function commitFailure(turn: Turn, working: Working, error: unknown): Promise<void> {
  await working.desk.commit(turn, failTurn(turn, working, describeFailure(error)))
}

function bindLog(log: Log, turn: Turn): Log {
  const bound = { correlation_id: turn.correlationId, agent: turn.agent }
  return {
    debug: (fields, text) => log.debug({ ...bound, ...fields }, text),
    info: (fields, text) => log.info({ ...bound, ...fields }, text),
    warn: (fields, text) => log.warn({ ...bound, ...fields }, text),
    error: (fields, text) => log.error({ ...bound, ...fields }, text),
  }
}
