// Holds the state of one task's event stream: its listeners, recent events and answer in progress.
import type { Part, PartialResponse, System } from '@postern/message'
import type { Store, TaskKey, TaskState } from '@postern/pipeline'
import type { WireStreamEvent, WireTaskStatus } from '../format/wire.ts'
import { countEventChars } from '../format/wire.ts'
import type { TaskView } from '../render.ts'
import type { Sink } from './sse.ts'

export interface FeedDeps {
  readonly store: Pick<Store, 'listen' | 'findTask' | 'findBlob'>
  readonly system: Pick<System, 'now' | 'sleep' | 'log'>
}

/** A client that follows a task. */
export interface FeedListener {
  readonly sink: Sink
  /** The part of the task that its first event shows. */
  readonly view: TaskView
  /**
   * True for the stream of a message, which ends once the task is at rest, even if the task waits for the client. A subscription ends with the
   * task.
   */
  readonly isOwn?: boolean | undefined
  /** The last position that the listener received. Its stream continues there if the position is still known. Absent for a new stream. */
  readonly after?: string | undefined
}

export type FeedStep = () => Promise<void> | void

/** The state that the operations on the feed of one task share. */
export interface FeedState extends FeedDeps {
  readonly key: TaskKey
  readonly eventLog: EventLog
  /** The listeners that have received the task. */
  readonly listeners: Set<FeedListener>
  /** The listeners that will receive the task next. */
  readonly joining: Set<FeedListener>
  /** Queues a step. The steps run one after the other, so that events keep their order and no listener joins in between. */
  readonly queue: (step: FeedStep) => void
  readonly onIdle: () => void
  context: string
  /** The state and the answer that the listeners have received. Undefined before the first listener. */
  last: { state: TaskState; response: string | undefined } | undefined
  /** The ids of the answers that the listeners have received from the store. */
  readonly sentAnswerIds: Set<string>
  live: LiveAnswer | undefined
  /** The status of an answer in progress, which the store does not contain. */
  liveStatus: WireTaskStatus | undefined
}

export function sendToAll(event: WireStreamEvent, { eventLog, listeners }: FeedState): void {
  const { id } = eventLog.put(event)
  for (const { sink } of listeners) sink.send(event, id)
}

export function endListener(listener: FeedListener, feed: FeedState, error?: unknown): void {
  if (!feed.listeners.delete(listener)) return
  listener.sink.end(error)
  checkIdle(feed)
}

export function checkIdle({ listeners, joining, onIdle }: FeedState): void {
  if (listeners.size + joining.size === 0) onIdle()
}

interface NumberedEvent {
  readonly id: string
  readonly event: WireStreamEvent
}

type EventLog = ReturnType<typeof createEventLog>

const maxEvents = 256
/** The most characters in a ring, approximately, because a thousand tasks may have a ring at once. Larger data can be read from the task itself. */
const maxChars = 256 * 1024

/**
 * Creates a ring of the newest events of one task, for callers whose connection broke. `epoch` distinguishes the positions of different rings.
 * While `keeps` returns false, events get positions but are not stored.
 */
export function createEventLog(epoch: string, keeps: () => boolean) {
  let count = 0
  let events: NumberedEvent[] = []
  let chars = 0

  function append(numberedEvent: NumberedEvent): void {
    events.push(numberedEvent)
    chars += countEventChars(numberedEvent.event)
    while (events.length > maxEvents || chars > maxChars) {
      const oldest = events.shift()
      if (!oldest) break
      chars -= countEventChars(oldest.event)
    }
  }

  function forget(): void {
    events = []
    chars = 0
  }

  return {
    put(event: WireStreamEvent): NumberedEvent {
      count += 1
      const numberedEvent = { id: `${epoch}-${count}`, event }
      if (keeps()) append(numberedEvent)
      else forget()
      return numberedEvent
    },
    /** Returns the position after the newest event. */
    here: () => `${epoch}-${count}`,
    /** Returns the events after this position, or undefined if they are no longer stored. */
    after(id: string): readonly NumberedEvent[] | undefined {
      const position = readPosition(id, epoch)
      if (position === undefined || position > count) return undefined
      return count - position <= events.length ? events.slice(events.length - (count - position)) : undefined
    },
  }
}

function readPosition(id: string, epoch: string): number | undefined {
  const [, writer, count] = /^([0-9a-f]{1,32})-(\d{1,15})$/.exec(id) ?? []
  return writer === epoch ? Number(count) : undefined
}

/** A notice of a piece of an answer in progress. */
export interface ChunkNotice {
  readonly kind: 'part'
  readonly chunk: PartialResponse
  /** The number of the turn's attempt that the piece belongs to. */
  readonly run: number
  /** The number of the piece, from 0 without gaps. */
  readonly index: number
  /** The id of the coming answer. */
  readonly response: string
}

/** The meaning of a piece for listeners. */
type ChunkMeaning =
  /** A message of progress, which the answer replaces. */
  | { readonly kind: 'interim'; readonly parts: readonly Part[]; readonly id: string }
  /** The agent is working and has sent no text yet. */
  | { readonly kind: 'working' }
  /** One more piece of the artifact. */
  | { readonly kind: 'piece'; readonly parts: readonly Part[] }

/** An answer in progress. */
export interface LiveAnswer {
  readonly message: number
  readonly run: number
  readonly response: string
  /** The number of pieces received so far. */
  count: number
  /** The pieces sent as artifacts so far. */
  readonly sentPieces: (readonly Part[])[]
  /** The ids of the artifacts that have begun. */
  readonly startedArtifacts: Set<string>
  /** The newest piece, which is held for a moment, in case it is the last. Undefined if none is held. */
  heldPiece: readonly Part[] | undefined
  /** True if the agent announced a question, a refusal or a failure, so that there is no artifact. */
  isMessage: boolean
  /** True if a piece was missed, so that the complete artifact has to be sent at the end. */
  hasGap: boolean
}

/** Begins an answer with its first piece. Returns undefined for any other piece: a later listener has missed pieces and waits for the end. */
export function beginLiveAnswer(message: number, { run, index, response }: ChunkNotice): LiveAnswer | undefined {
  if (index !== 0) return undefined
  return {
    message,
    run,
    response,
    count: 0,
    sentPieces: [],
    startedArtifacts: new Set(),
    heldPiece: undefined,
    isMessage: false,
    hasGap: false,
  }
}

/** Adds a piece and returns its meaning, or undefined after a missing piece, because the rest cannot be sent. */
export function acceptChunk(live: LiveAnswer, { chunk, run, index, response }: ChunkNotice): ChunkMeaning | undefined {
  if (run === live.run && index > live.count) live.hasGap = true
  if (run !== live.run || index !== live.count) return undefined
  live.count += 1
  const { status, parts: chunkParts = [] } = chunk
  // A part must have content, so a text without any is left out.
  const parts = chunkParts.filter(part => part.kind !== 'text' || part.content !== '')
  if (status === 'working' && parts.length > 0) return { kind: 'interim', parts, id: `${response}-${index}` }
  live.isMessage = isNoResult(status, live.isMessage)
  if (parts.length === 0 || live.isMessage) return { kind: 'working' }
  return { kind: 'piece', parts }
}

function isNoResult(status: PartialResponse['status'], before: boolean): boolean {
  return status === undefined ? before : status !== 'completed' && status !== 'working'
}
