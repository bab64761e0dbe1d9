import type { Platform, TaskKey } from '@postern/core'
import { isTurnNews, readAbortKind } from '@postern/core'
import type { ChunkNotice, FeedDeps, FeedListener, FeedState, FeedStep } from './feed-state.ts'
import { checkIdle, createRing } from './feed-state.ts'
import { admitListener, sendChanges, sendNotice } from './task-updates.ts'

export type TaskFeed = ReturnType<typeof createTaskFeed>

interface FeedOptions {
  readonly key: TaskKey
  /** Distinguishes the positions of this feed from those of an earlier one. */
  readonly epoch: string
  /** Whether a listener may come back for missed events. */
  keepsEvents(): boolean
  /** The last listener has left. */
  onIdle(): void
}

/** Sends the events of one task to all listeners in one order. */
export function createTaskFeed({ store, platform }: FeedDeps, options: FeedOptions) {
  const { key, epoch, keepsEvents, onIdle } = options
  const steps = createStepQueue(platform)
  const ring = createRing(epoch, keepsEvents)
  const listeners = new Set<FeedListener>()
  const waiting = new Set<FeedListener>()
  const nothing = { context: '', known: undefined, live: undefined, liveStatus: undefined }
  const feed: FeedState = { store, platform, key, ring, listeners, waiting, queue: steps.add, onIdle, ...nothing }
  const messages = createMessageTracker(feed)
  return {
    join(listener: FeedListener): void {
      waiting.add(listener)
      steps.add(() => admitListener(listener, feed))
    },
    leave(listener: FeedListener): void {
      waiting.delete(listener)
      listeners.delete(listener)
      checkIdle(feed)
    },
    /** A message was admitted to the task: the feed sends what its turn announces. */
    track: messages.track,
    /** Reads the store for changes that no notice announced. */
    look: () => steps.add(() => sendChanges(feed)),
    beat(): void {
      for (const { sink } of listeners) sink.beat()
    },
    isIdle: () => listeners.size + waiting.size === 0,
    /** Whether the events after this one are still known. */
    knows: (eventId: string) => ring.after(eventId) !== undefined,
    /** Ends all streams; the task goes on. */
    close(): void {
      steps.close()
      messages.close()
      for (const { sink } of [...waiting, ...listeners]) sink.end()
      waiting.clear()
      listeners.clear()
    },
  }
}

/** Hears the notices of the task's messages. */
function createMessageTracker(feed: FeedState) {
  const tracked = new Map<number, () => void>()
  let isClosed = false

  function hear(message: number, notice: unknown): void {
    if (isChunk(notice)) feed.queue(() => sendNotice(message, notice, feed))
    else if (!isTurnNews(notice)) endTurn(message, notice)
  }

  function endTurn(message: number, notice: unknown): void {
    tracked.get(message)?.()
    tracked.delete(message)
    // After an interruption the task goes on with a newer message, and so do its listeners.
    if (readAbortKind(notice) === 'interrupted') return
    feed.queue(() => sendChanges(feed))
  }

  return {
    track(message: number): void {
      if (tracked.has(message) || isClosed) return
      tracked.set(
        message,
        feed.store.listen(`message:${message}`, notice => hear(message, notice)),
      )
    },
    close(): void {
      isClosed = true
      for (const unlisten of tracked.values()) unlisten()
    },
  }
}

function isChunk(notice: unknown): notice is ChunkNotice {
  return (notice as { readonly kind?: unknown } | undefined)?.kind === 'part'
}

/** Runs steps one after the other. After a failed step the next ones run all the same: a later look finds what it left out. */
function createStepQueue({ log }: Pick<Platform, 'log'>) {
  const steps: FeedStep[] = []
  let isRunning = false
  let isClosed = false

  async function run(): Promise<void> {
    isRunning = true
    for (let step = steps.shift(); step && !isClosed; step = steps.shift()) {
      try {
        await step()
      } catch (error) {
        log.warn({ err: error, via: 'a2a' }, 'a stream could not be continued')
      }
    }
    isRunning = false
  }

  return {
    add(step: FeedStep): void {
      steps.push(step)
      if (!isRunning) void run()
    },
    /** Drops the steps that have not begun. */
    close(): void {
      isClosed = true
    },
  }
}
