// Defines the state of one task's event stream, which consists of its listeners and the answer in progress.
import type { Part, PartialResponse, System } from '@postern/message'
import type { Store, TaskKey, TaskState } from '@postern/pipeline'
import type { WireStreamEvent, WireTaskStatus } from '../format/wire.ts'
import type { TaskView } from '../render.ts'
import type { EventLog } from './event-log.ts'
import type { Sink } from './sse.ts'

export interface FeedDeps {
  readonly store: Pick<Store, 'listen' | 'findTask' | 'findBlob'>
  readonly system: Pick<System, 'now' | 'sleep' | 'log'>
}

/** A client that follows a task. */
export interface FeedListener {
  readonly sink: Sink
  /** The amount of the task that the first event contains. */
  readonly view: TaskView
  /**
   * True for a stream that answers a message. It ends when the task is final or waits for the client. A subscription ends only with the task.
   */
  readonly isMessageStream?: boolean | undefined
  /** The id of the last event that the listener received. Its stream continues there if the position is still known. Absent for a new stream. */
  readonly lastEventId?: string | undefined
}

export type FeedStep = () => Promise<void> | void

/** The state that the operations on the feed of one task share. */
export interface FeedState extends FeedDeps {
  readonly key: TaskKey
  readonly eventLog: EventLog
  /** The listeners that have received the task. */
  readonly listeners: Set<FeedListener>
  /** The listeners that will receive the task next. */
  readonly newListeners: Set<FeedListener>
  /** Queues a step. Steps run one after the other, so that events keep their order and no listener joins between them. */
  readonly queue: (step: FeedStep) => void
  readonly onIdle: () => void
  contextId: string
  /** The state and the answer that the listeners have received. Undefined before the first listener. */
  sentState: { state: TaskState; response: string | undefined } | undefined
  /** The ids of the answers that the listeners have received from the store. */
  readonly sentAnswerIds: Set<string>
  liveAnswer: LiveAnswer | undefined
  /** The status of an answer in progress, which the store does not contain. */
  liveStatus: WireTaskStatus | undefined
}

export function sendToAll(event: WireStreamEvent, { eventLog, listeners }: FeedState): void {
  const { id } = eventLog.add(event)
  for (const { sink } of listeners) sink.send(event, id)
}

export function endListener(listener: FeedListener, feed: FeedState, error?: unknown): void {
  if (!feed.listeners.delete(listener)) return
  listener.sink.end(error)
  checkIdle(feed)
}

export function checkIdle({ listeners, newListeners: joiningListeners, onIdle }: FeedState): void {
  if (listeners.size + joiningListeners.size === 0) onIdle()
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
  /** The newest piece, which waits for a moment because it may be the last one. Undefined if no piece waits. */
  pendingPiece: readonly Part[] | undefined
  /** True if the agent announced a question, a refusal or a failure. Such an answer has no artifact. */
  isMessage: boolean
  /** True if a piece is missing. The complete artifact is then sent at the end. */
  hasGap: boolean
}

/** Begins an answer with its first piece. Returns undefined for any other piece, because the feed has missed pieces and waits for the end. */
export function beginLiveAnswer(message: number, { run, index, response }: ChunkNotice): LiveAnswer | undefined {
  if (index !== 0) return undefined
  return {
    message,
    run,
    response,
    count: 0,
    sentPieces: [],
    startedArtifacts: new Set(),
    pendingPiece: undefined,
    isMessage: false,
    hasGap: false,
  }
}

/** Adds a piece and returns its meaning, or undefined after a missing piece, because the pieces after a gap cannot be sent. */
export function acceptChunk(
  liveAnswer: LiveAnswer,
  { chunk, run, index, response }: ChunkNotice,
): ChunkMeaning | undefined {
  if (run === liveAnswer.run && index > liveAnswer.count) liveAnswer.hasGap = true
  if (run !== liveAnswer.run || index !== liveAnswer.count) return undefined
  liveAnswer.count += 1
  const { status, parts: chunkParts = [] } = chunk
  // A part must have content, so empty texts are omitted.
  const parts = chunkParts.filter(part => part.kind !== 'text' || part.content !== '')
  if (status === 'working' && parts.length > 0) return { kind: 'interim', parts, id: `${response}-${index}` }
  liveAnswer.isMessage = becomesMessage(status, liveAnswer.isMessage)
  if (parts.length === 0 || liveAnswer.isMessage) return { kind: 'working' }
  return { kind: 'piece', parts }
}

function becomesMessage(status: PartialResponse['status'], isMessage: boolean): boolean {
  return status === undefined ? isMessage : status !== 'completed' && status !== 'working'
}
