// Sends the events of one task to all its listeners in one order.
import type { System } from '@postern/message'
import type { SettledTask, TaskKey } from '@postern/pipeline'
import { isTurnProgress, readAbortKind } from '@postern/pipeline'
import { createEventLog } from './event-log.ts'
import type { ChunkNotice, FeedDeps, FeedListener, FeedState, FeedStep } from './feed-state.ts'
import { checkIdle } from './feed-state.ts'
import { admitListener, sendChanges, sendEnd, sendNotice } from './task-updates.ts'

export type TaskFeed = ReturnType<typeof createTaskFeed>

interface FeedOptions {
  readonly key: TaskKey
  /** The name that distinguishes the positions of this feed from those of an earlier feed of the task. */
  readonly epoch: string
  /** Returns true if a listener may reconnect and ask for missed events. */
  keepsEvents(): boolean
  /** Handles the departure of the last listener. */
  onIdle(): void
}

/** Creates the feed of one task, which its listeners join and leave. */
export function createTaskFeed({ store, system }: FeedDeps, options: FeedOptions) {
  const { key, epoch, keepsEvents, onIdle } = options
  const steps = createStepQueue(system)
  const eventLog = createEventLog(epoch, keepsEvents)
  const listeners = new Set<FeedListener>()
  const joiningListeners = new Set<FeedListener>()
  const feed: FeedState = {
    store,
    system,
    key,
    eventLog,
    listeners,
    newListeners: joiningListeners,
    queue: steps.add,
    onIdle,
    contextId: '',
    sentState: undefined,
    sentAnswerIds: new Set(),
    liveAnswer: undefined,
    liveStatus: undefined,
  }
  const messages = createMessageTracker(feed)
  return {
    join(listener: FeedListener): void {
      joiningListeners.add(listener)
      steps.add(() => admitListener(listener, feed))
    },
    leave(listener: FeedListener): void {
      joiningListeners.delete(listener)
      listeners.delete(listener)
      checkIdle(feed)
    },
    /** Tracks a message that was admitted to the task, so that the feed sends the events of its turn. */
    track: messages.track,
    /** Reads the store for changes that no notice announced. */
    poll: () => steps.add(() => sendChanges(feed)),
    beat(): void {
      for (const { sink } of listeners) sink.beat()
    },
    isIdle: () => listeners.size + joiningListeners.size === 0,
    /** Returns true if the events after this one are still known. */
    hasEventsAfter: (eventId: string) => eventLog.eventsAfter(eventId) !== undefined,
    /** Ends all streams. The task continues. */
    close(): void {
      steps.close()
      messages.close()
      for (const { sink } of [...joiningListeners, ...listeners]) sink.end()
      joiningListeners.clear()
      listeners.clear()
    },
  }
}

/** The notice of an ended turn, with the task if the store adds it. */
interface EndNotice {
  readonly task?: SettledTask | undefined
}

/** Creates the tracker that listens to the notices of the task's messages. */
function createMessageTracker(feed: FeedState) {
  const trackedMessages = new Map<number, () => void>()
  let isClosed = false

  function handleNotice(message: number, notice: unknown): void {
    if (isChunk(notice)) feed.queue(() => sendNotice(message, notice, feed))
    else if (!isTurnProgress(notice)) endTurn(message, notice)
  }

  function endTurn(message: number, notice: unknown): void {
    trackedMessages.get(message)?.()
    trackedMessages.delete(message)
    // After an interruption, the task continues with a newer message, so its listeners stay. Otherwise the turn has ended.
    const isInterrupted = readAbortKind(notice) === 'interrupted'
    const { task } = (notice ?? {}) as EndNotice
    feed.queue(() => (isInterrupted ? sendEnd(feed) : sendChanges(feed, task)))
  }

  return {
    track(message: number): void {
      if (trackedMessages.has(message) || isClosed) return
      trackedMessages.set(
        message,
        feed.store.listen(`message:${message}`, notice => handleNotice(message, notice)),
      )
    },
    close(): void {
      isClosed = true
      for (const stopListening of trackedMessages.values()) stopListening()
    },
  }
}

function isChunk(notice: unknown): notice is ChunkNotice {
  return (notice as { readonly kind?: unknown } | undefined)?.kind === 'part'
}

/**
 * Creates a queue that runs steps one after the other. If a step fails, the next steps still run, because a later query of the store finds the changes
 * that the failed step did not send.
 */
function createStepQueue({ log }: Pick<System, 'log'>) {
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
