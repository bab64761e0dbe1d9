import type { Part, PartialResponse, Platform, Store, TaskKey, TaskState } from '@postern/core'
import type { WireStreamEvent, WireTaskStatus } from '../format/wire.ts'
import { countEventChars } from '../format/wire.ts'
import type { TaskView } from '../render.ts'
import type { Sink } from './sse.ts'

export interface FeedDeps {
  readonly store: Pick<Store, 'listen' | 'findTask' | 'findBlob'>
  readonly platform: Pick<Platform, 'now' | 'sleep' | 'log'>
}

/** A client that follows a task. */
export interface FeedListener {
  readonly sink: Sink
  /** How much of the task its first event shows. */
  readonly view: TaskView
  /** The stream of a message ends when the task is at rest, also when it waits for the client. A subscription ends with the task. */
  readonly isOwn?: boolean | undefined
  /** The last position that the listener received. Its stream continues there if the position is known. */
  readonly after?: string | undefined
}

export type FeedStep = () => Promise<void> | void

/** What the operations on the feed of one task share. */
export interface FeedState extends FeedDeps {
  readonly key: TaskKey
  readonly ring: Ring
  /** Listeners that have received the task. */
  readonly listeners: Set<FeedListener>
  /** Listeners that will receive the task next. */
  readonly waiting: Set<FeedListener>
  /** Runs the steps one after the other, so that events keep their order and no listener joins in between. */
  readonly queue: (step: FeedStep) => void
  readonly onIdle: () => void
  context: string
  /** What the listeners know; undefined before the first. */
  known: { state: TaskState; response: string | undefined } | undefined
  live: LiveAnswer | undefined
  /** The status of an answer in progress, which the store does not have. */
  liveStatus: WireTaskStatus | undefined
}

export function sendToAll(event: WireStreamEvent, { ring, listeners }: FeedState): void {
  const { id } = ring.put(event)
  for (const { sink } of listeners) sink.send(event, id)
}

export function endListener(listener: FeedListener, feed: FeedState, error?: unknown): void {
  if (!feed.listeners.delete(listener)) return
  listener.sink.end(error)
  checkIdle(feed)
}

export function checkIdle({ listeners, waiting, onIdle }: FeedState): void {
  if (listeners.size + waiting.size === 0) onIdle()
}

interface PlacedEvent {
  readonly id: string
  readonly event: WireStreamEvent
}

type Ring = ReturnType<typeof createRing>

const maxEvents = 256
/** Approximate characters, because a thousand tasks may have a ring at once. The task itself has what is larger. */
const maxChars = 256 * 1024

/**
 * The newest events of one task, for callers whose connection broke. `epoch` distinguishes the positions of different rings. Without `keeps`
 * events get positions but are not kept.
 */
export function createRing(epoch: string, keeps: () => boolean) {
  let count = 0
  let kept: PlacedEvent[] = []
  let chars = 0

  function keep(placed: PlacedEvent): void {
    kept.push(placed)
    chars += countEventChars(placed.event)
    while (kept.length > maxEvents || chars > maxChars) {
      const oldest = kept.shift()
      if (!oldest) break
      chars -= countEventChars(oldest.event)
    }
  }

  function forget(): void {
    kept = []
    chars = 0
  }

  return {
    put(event: WireStreamEvent): PlacedEvent {
      count += 1
      const placed = { id: `${epoch}-${count}`, event }
      if (keeps()) keep(placed)
      else forget()
      return placed
    },
    /** The position after the newest event. */
    here: () => `${epoch}-${count}`,
    /** The events after this position; undefined when they are no longer known. */
    after(id: string): readonly PlacedEvent[] | undefined {
      const place = readPlace(id, epoch)
      if (place === undefined || place > count) return undefined
      return count - place <= kept.length ? kept.slice(kept.length - (count - place)) : undefined
    },
  }
}

function readPlace(id: string, epoch: string): number | undefined {
  const [, named, count] = /^([0-9a-f]{1,32})-(\d{1,15})$/.exec(id) ?? []
  return named === epoch ? Number(count) : undefined
}

/** A piece of an answer in progress, as core's `call-agent.ts` announces it. */
export interface ChunkNotice {
  readonly kind: 'part'
  readonly chunk: PartialResponse
  /** The try of the turn that it belongs to. */
  readonly run: number
  /** From 0, without gaps. */
  readonly index: number
  /** The id of the coming answer. */
  readonly response: string
}

/** What a piece means for listeners. */
type ChunkMeaning =
  /** A message of progress; the answer replaces it. */
  | { readonly kind: 'interim'; readonly parts: readonly Part[]; readonly id: string }
  /** The agent works and has sent no text yet. */
  | { readonly kind: 'working' }
  /** One more piece of the artifact. */
  | { readonly kind: 'piece'; readonly parts: readonly Part[] }

/** An answer in progress. */
export interface LiveAnswer {
  readonly message: number
  readonly run: number
  readonly response: string
  /** Pieces received so far. */
  count: number
  /** The parts sent as an artifact so far. */
  readonly told: Part[]
  /** The newest piece waits a moment, in case it is the last. */
  held: readonly Part[] | undefined
  /** The agent announced a question, a refusal or a failure, so there is no artifact. */
  isMessage: boolean
  /** A piece was missed, so the artifact has to be sent whole at the end. */
  hasGap: boolean
}

/** The answer that a first piece begins. A later listener has missed pieces and waits for the end. */
export function beginLiveAnswer(message: number, { run, index, response }: ChunkNotice): LiveAnswer | undefined {
  if (index !== 0) return undefined
  return { message, run, response, count: 0, told: [], held: undefined, isMessage: false, hasGap: false }
}

/** Adds a piece and returns its meaning; undefined after a missing piece, because the rest cannot be sent. */
export function takeChunk(live: LiveAnswer, { chunk, run, index, response }: ChunkNotice): ChunkMeaning | undefined {
  if (run === live.run && index > live.count) live.hasGap = true
  if (run !== live.run || index !== live.count) return undefined
  live.count += 1
  const { status, parts = [] } = chunk
  if (status === 'working' && parts.length > 0) return { kind: 'interim', parts, id: `${response}-${index}` }
  live.isMessage = isNoResult(status, live.isMessage)
  if (parts.length === 0 || live.isMessage) return { kind: 'working' }
  return { kind: 'piece', parts }
}

function isNoResult(status: PartialResponse['status'], before: boolean): boolean {
  return status === undefined ? before : status !== 'completed' && status !== 'working'
}

/** Joins pieces of one text kind. */
export function joinPieces(parts: readonly Part[]): readonly Part[] {
  const joined: Part[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if (part.kind === 'text' && last?.kind === 'text' && last.mime === part.mime) {
      joined[joined.length - 1] = { ...last, content: last.content + part.content }
    } else joined.push(part)
  }
  return joined
}
