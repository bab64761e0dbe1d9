import type { Platform, Store, TaskKey, TaskState } from '@postern/core'
import type { WireStreamEvent, WireTaskStatus } from '../format/wire.ts'
import type { TaskView } from '../render.ts'
import type { Sink } from './event-stream.ts'
import type { LiveAnswer } from './live-answer.ts'
import type { Ring } from './ring.ts'

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
