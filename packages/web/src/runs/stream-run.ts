import type { Event, Interrupt, RunFinishedEvent } from '@ag-ui/core'
import { EventType } from '@ag-ui/core'
import type {
  NormalizedResponse,
  NoteNotice,
  Part,
  PartialResponse,
  Platform,
  SettledTask,
  StageNotice,
  Store,
} from '@postern/core'
import { isTurnNews, plainTextOf, presentResponse } from '@postern/core'
import type { WebDeps } from '../endpoint.ts'
import type { Behind, ChatState, EventSink, RunWriter } from '../events/run-events.ts'
import { createRunWriter, streamEvents } from '../events/run-events.ts'
import { describeRefusal } from '../render.ts'
import { listInterrupts } from '../requirements/interrupts.ts'
import type { AskedRun } from '../resolve.ts'
import { isEarlierClient, parseThreadName } from '../resolve.ts'
import { senderOf } from '../verify.ts'

/** What a run begins with. */
export interface StartedRun {
  /** Absent when nothing is left to answer. */
  readonly watched: Watched | undefined
  readonly warnings: readonly string[]
  /** The stored messages, for a client that lacks some of them. */
  readonly snapshots: readonly (readonly object[])[]
  /** Reads what the conversation still waits for. */
  readonly listOpen: () => Promise<readonly Interrupt[]>
  /** The chat state of the last answer. */
  readonly state: ChatState | undefined
  /** The client only asked about something that an operator decides. */
  readonly isAsking: boolean
}

/** Streams a run while it goes on. `leave` is called when the client has left or has read everything. */
export function streamRun(
  asked: AskedRun,
  started: StartedRun,
  { config, gateway }: WebDeps,
  leave: () => void,
): ReadableStream<Uint8Array> {
  const { threadId, runId, parentRunId, tools } = asked.input
  const { platform, store, agents, fileAddress, showRequirement } = gateway
  const clientTools = new Set(tools.map(({ name }) => name))
  const isEarlier = isEarlierClient(asked.input)
  return streamEvents(sink => {
    const showsTrace = config.trace
    // As in the history: notes of conversations elsewhere may concern other people.
    const showsNotes = showsTrace && !parseThreadName(threadId, { gateway })
    const told = { agent: asked.agent, showsTrace, showsNotes, fileAddress }
    const place = {
      threadId,
      runId,
      parentRunId,
      clientTools,
      now: platform.now,
      askedAt: started.watched?.askedAt,
      ...told,
    }
    const writer = createRunWriter(place, isEarlier ? createEarlierWriter(sink.send) : sink.send)
    // Only this person reads the stream, so it shows the addresses where they decide.
    const sender = senderOf(asked.owner, `@${asked.agent}@${agents.domain}`, platform.now())
    const present: Present = response => {
      const presented = presentResponse(response, { sender }, showRequirement)
      return isEarlier ? withDecisionLinks(presented) : presented
    }
    const watcher = createWatcher(writer, { sink, present, listOpen: started.listOpen, done: sink.close })
    writer.start()
    for (const snapshot of started.snapshots) writer.snapshot(snapshot)
    if (started.state) writer.behind({ chat_state: started.state })
    for (const warning of started.warnings) writer.warn(warning)
    // Before the agent begins, because a late follower gets the answer only at its end.
    const stop = started.watched && followTurn(started.watched, watcher, { store, platform })
    if (!stop)
      void endWithoutTurn(asked, started, writer)
        .catch(() => failToFollow(writer))
        .then(sink.close)
    return () => {
      stop?.()
      leave()
    }
  })
}

/** Ends a run that says nothing new. A decision that did not count is no success. */
async function endWithoutTurn(
  { input }: AskedRun,
  { warnings, listOpen, isAsking }: StartedRun,
  writer: RunWriter,
): Promise<void> {
  const wasAsked = (input.resume?.length ?? 0) > 0
  if (wasAsked && !isAsking) writer.fail(warnings.at(-1) ?? 'Nothing was decided', 'not_decided')
  else finish(writer, await listOpen())
}

/** An open requirement of an earlier run keeps this run from success. */
function finish(writer: RunWriter, interrupts: readonly Interrupt[]): void {
  writer.finish(interrupts.length > 0 ? { kind: 'interrupt', interrupts } : { kind: 'success' })
}

function failToFollow(writer: RunWriter): void {
  writer.fail('The run cannot be followed any more. Its answer will be in the history.', 'unavailable')
}

type Present = (response: NormalizedResponse) => NormalizedResponse

interface Watching {
  readonly sink: Pick<EventSink, 'beat' | 'isFull'>
  readonly present: Present
  readonly listOpen: StartedRun['listOpen']
  done(): void
}

function createWatcher(writer: RunWriter, { sink, present, listOpen, done }: Watching): TurnWatcher {
  let isBehind = false
  // The complete answer brings what was left out, in its order.
  const unlessBehind =
    <Words extends readonly unknown[]>(tell: (...words: Words) => void) =>
    (...words: Words): void => {
      isBehind ||= sink.isFull()
      if (!isBehind) tell(...words)
    }
  return {
    piece: unlessBehind(writer.piece),
    behind: unlessBehind(writer.behind),
    interim: unlessBehind(writer.interim),
    note: unlessBehind(writer.note),
    beat: sink.beat,
    end(ending) {
      const presented = { ...ending, response: ending.response && present(ending.response) }
      void tellEnding(presented, writer, listOpen)
        .catch(() => failToFollow(writer))
        .then(done)
    },
    fail() {
      failToFollow(writer)
      done()
    },
  }
}

async function tellEnding(
  { response, isCanceled }: TurnEnding,
  writer: RunWriter,
  listOpen: StartedRun['listOpen'],
): Promise<void> {
  if (isCanceled) return writer.finish({ kind: 'cancelled' })
  if (response?.status === 'failed')
    return writer.fail(plainTextOf(response.parts) || 'The agent failed', 'agent_failed', { response })
  if (response) writer.complete(response)
  if (response?.status === 'rejected') {
    const { message, code, details } = describeRefusal(response)
    return writer.fail(message, code, { response, details })
  }
  const isWaiting = response?.status === 'input_required' || response?.status === 'auth_required'
  const interrupts = isWaiting ? listInterrupts(response) : []
  const known = new Set(interrupts.map(({ id }) => id))
  finish(writer, [...interrupts, ...(await listOpen()).filter(({ id }) => !known.has(id))])
}

/** A turn whose answer a client follows. */
export interface Watched {
  /** Our number of the message. */
  readonly message: number
  readonly task: { readonly owner: string; readonly id: string } | undefined
  /** When the message was admitted, ms; absent if a decision caused the turn. */
  readonly askedAt?: number | undefined
}

export interface TurnEnding {
  /** `undefined`: the agent said nothing. */
  readonly response?: NormalizedResponse | undefined
  readonly isCanceled: boolean
}

interface TurnWatcher {
  piece(parts: readonly Part[], response: string): void
  /** Speaker, state, trace and cost. It comes before the parts of the same piece. */
  behind(behind: Behind): void
  interim(parts: readonly Part[]): void
  note(notice: NoteNotice | StageNotice): void
  beat(): void
  end(ending: TurnEnding): void
  /** The gateway shuts down, or the turn cannot be read. */
  fail(): void
}

interface ChunkNotice {
  readonly kind: 'part'
  readonly chunk: PartialResponse
  readonly run: number
  readonly index: number
  readonly response: string
}

/** `task`: as it is after the turn, if the store tells it. */
interface EndNotice {
  readonly kind: 'settled' | 'canceled'
  readonly task?: SettledTask | undefined
}

type Notice = ChunkNotice | NoteNotice | StageNotice | EndNotice

/** States of tasks, and of messages that a decision caused. */
const openStates: ReadonlySet<string> = new Set(['submitted', 'received', 'working'])

/** Notices may get lost, so the store is read after the first of these times, ms, and from then on after the second. */
const [firstLookMs, lookMs] = [1_000, 5_000]

interface FollowDeps {
  readonly store: Pick<Store, 'listen' | 'findAnswer' | 'findTask' | 'findMessage'>
  readonly platform: Pick<Platform, 'sleep' | 'log'>
}

interface FollowedTurn extends FollowDeps {
  readonly watched: Watched
  readonly watcher: TurnWatcher
  readonly closing: AbortSignal
  /** The agent's call whose pieces the watcher gets. */
  run: number | undefined
  nextPiece: number
  stop(): void
}

/**
 * Follows a turn from its admission to its end, and returns what stops it. The pieces of one agent call come without gaps: after a missed
 * piece the rest comes with the answer.
 */
export function followTurn(watched: Watched, watcher: TurnWatcher, { store, platform }: FollowDeps): () => void {
  const closing = new AbortController()
  const stop = () => {
    closing.abort()
    unlisten()
  }
  const state = { run: undefined, nextPiece: 0 }
  const turn: FollowedTurn = { watched, watcher, store, platform, closing: closing.signal, ...state, stop }
  const unlisten = store.listen(`message:${watched.message}`, payload => hear(payload as Notice | undefined, turn))
  // A turn that was caused by a decision may have ended by now; one that was just admitted has not.
  if (watched.askedAt === undefined) void look(turn)
  void keepLooking(turn)
  return stop
}

function hear(notice: Notice | undefined, turn: FollowedTurn): void {
  if (notice?.kind === 'part') hearPiece(notice, turn)
  else if (isTurnNews(notice)) turn.watcher.note(notice)
  else if (notice?.kind === 'settled' || notice?.kind === 'canceled') hearEnd(notice, turn)
}

function hearEnd({ task }: EndNotice, turn: FollowedTurn): void {
  if (task === undefined) void look(turn)
  else if (!openStates.has(task.state)) endWith(task.state, task.response, turn)
}

function hearPiece(notice: ChunkNotice, turn: FollowedTurn): void {
  turn.run ??= notice.run
  if (notice.run !== turn.run || notice.index !== turn.nextPiece) return
  turn.nextPiece += 1
  const { status, parts = [], speaker, chat_state, trace, usage } = notice.chunk
  turn.watcher.behind({ speaker, chat_state, trace, usage })
  if (parts.length === 0) return
  if (status === 'working') turn.watcher.interim(parts)
  else turn.watcher.piece(parts, notice.response)
}

async function look(turn: FollowedTurn): Promise<void> {
  const { watched, watcher, store, platform, closing, stop } = turn
  const { message, task } = watched
  try {
    const found = await store.findAnswer(message)
    const state = task ? (await store.findTask(task))?.state : (await store.findMessage(`#${message}`))?.state
    if (closing.aborted) return
    if (state === undefined || !openStates.has(state)) endWith(state, found?.response, turn)
  } catch (error) {
    platform.log.warn({ err: error, message }, 'a run cannot be followed')
    stop()
    watcher.fail()
  }
}

/** A message that was deleted during its turn counts as canceled. */
function endWith(
  state: string | undefined,
  response: NormalizedResponse | undefined,
  { watcher, stop }: FollowedTurn,
): void {
  const isCanceled = state === 'canceled' || state === undefined
  stop()
  watcher.end({ response: isCanceled ? undefined : response, isCanceled })
}

async function keepLooking(turn: FollowedTurn): Promise<void> {
  const { platform, closing, watcher } = turn
  for (let napMs = firstLookMs; !closing.aborted; napMs = lookMs) {
    await platform.sleep(napMs, closing)
    if (closing.aborted) return
    watcher.beat()
    await look(turn)
  }
}

type Send = (event: Event) => void

/** Types that came after the first clients. A client of 0.0.x ends with an error at a type that it does not know. */
const laterTypes: ReadonlySet<string> = new Set([
  EventType.ACTIVITY_SNAPSHOT,
  EventType.ACTIVITY_DELTA,
  EventType.SUBAGENT_STARTED,
  EventType.SUBAGENT_FINISHED,
  EventType.SUBAGENT_ERROR,
])

const textTypes: ReadonlySet<string> = new Set([EventType.TEXT_MESSAGE_CONTENT, EventType.TEXT_MESSAGE_END])

/**
 * Writes the events of a run for clients of AG-UI 0.0.x: with no type, outcome or member that one of them refuses, and with nothing but its
 * text between the start and the end of a message. Later types become custom events of the same names, in lower case.
 */
function createEarlierWriter(send: Send): Send {
  let waiting: Event[] = []
  let isInText = false
  return event => {
    const written = toEarlierEvent(event)
    if (isInText && !textTypes.has(written.type)) {
      waiting.push(written)
      return
    }
    send(written)
    isInText =
      written.type === EventType.TEXT_MESSAGE_START || (isInText && written.type !== EventType.TEXT_MESSAGE_END)
    if (isInText) return
    for (const late of waiting) send(late)
    waiting = []
  }
}

function toEarlierEvent(event: Event): Event {
  if (laterTypes.has(event.type)) return toCustomEvent(event)
  if (event.type === EventType.RUN_STARTED) return withoutMember(event, 'protocolVersion')
  return event.type === EventType.RUN_FINISHED ? withEarlierOutcome(event) : event
}

function toCustomEvent({ type, timestamp, ...value }: Event): Event {
  return { type: EventType.CUSTOM, name: type.toLowerCase(), value, timestamp } as Event
}

/** Calls that wait for the client are those without a result. An end without an outcome would be a success. */
function withEarlierOutcome(event: RunFinishedEvent): Event {
  const { outcome, usage, timestamp } = event
  if (outcome?.type === 'cancelled') {
    const error = { type: EventType.RUN_ERROR, message: 'The run was cancelled', code: 'cancelled', timestamp }
    return { ...error, ...(usage && { usage }) } as Event
  }
  return outcome ? { ...event, outcome: withoutMember(outcome, 'pendingToolCallIds') } : event
}

function withoutMember<Value extends object>(value: Value, name: string): Value {
  return Object.fromEntries(Object.entries(value).filter(([member]) => member !== name)) as Value
}

/** The answer with a link after each requirement that has an address, for clients that show only text. */
function withDecisionLinks(response: NormalizedResponse): NormalizedResponse {
  return { ...response, parts: response.parts.flatMap(part => [part, ...linkOf(part)]) }
}

function linkOf(part: Part): readonly Part[] {
  if (part.kind !== 'policy' || part.policy.url === undefined) return []
  const { url, action_label: title } = part.policy
  return [{ kind: 'link', url, ...(title !== undefined && { title }) }]
}
