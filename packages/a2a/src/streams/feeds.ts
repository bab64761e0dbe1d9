// Opens an event stream for each caller who follows a task, within their quotas.
import { createOpenCount } from '@postern/limits'
import type { System } from '@postern/message'
import { Rejection, randomHex, Unavailable } from '@postern/message'
import type { TaskKey } from '@postern/pipeline'
import { isQueryDue } from '../tasks/task-waiter.ts'
import type { FeedDeps, FeedListener } from './feed-state.ts'
import { EventStream } from './sse.ts'
import type { TaskFeed } from './task-feed.ts'
import { createTaskFeed } from './task-feed.ts'

/** A request for a stream. */
interface FeedRequest extends Omit<FeedListener, 'sink'> {
  readonly key: TaskKey
  /** The key of the quota that the stream counts for. */
  readonly listenerKey: string
  /** The key of the connector whose person listens. It has a separate quota for all its people together. Absent without a connector. */
  readonly connectorKey?: string | undefined
  /** The time at which the credential of the caller becomes invalid, and the stream ends, in ms since the epoch. Absent if it does not expire. */
  readonly endsAt?: number | undefined
  /** True to store events for a while, so that the caller can continue after a broken connection. */
  readonly canReplay: boolean
  /** The numbers of messages whose turns may be open. */
  readonly messages: readonly number[]
}

export type Feeds = ReturnType<typeof createFeeds>

interface FeedLimits {
  /** The most concurrent streams of one caller. */
  readonly maxPerCaller: number
  /** The most concurrent streams of all people of one connector. */
  readonly maxPerConnector: number
  /** The time without events after which a stream ends, ms. */
  readonly idleMs: number
}

/** The period of the one timer that serves all streams, ms. */
const tickMs = 250
const heartbeatTicks = 15_000 / tickMs
/** The time for which events are stored after the last listener has left, ms. */
const replayMs = 60_000
/** The most tasks without listeners whose events are stored. */
const maxIdleFeeds = 1_000

interface OpenFeed {
  readonly name: string
  readonly feed: TaskFeed
  canReplay: boolean
  ticks: number
  /** The time at which the last listener left, in ms since the epoch. Undefined while there are listeners. */
  idleAt: number | undefined
}

interface ExpiringStream {
  readonly endsAt: number
  end(): void
}

type FeedsDeps = FeedDeps & { readonly system: Pick<System, 'randomBytes'> }

interface FeedsState {
  readonly deps: FeedsDeps
  readonly feeds: Map<string, OpenFeed>
  /** The open streams of callers whose credentials expire. */
  readonly expiringStreams: Set<ExpiringStream>
  readonly shutdownSignal: AbortSignal
  readonly idleMs: number
  idleCount: number
  isTicking: boolean
}

/** Creates the feeds of all tasks that callers follow. */
export function createFeeds(
  deps: FeedsDeps,
  { maxPerCaller: perCaller, maxPerConnector: perConnector, idleMs }: FeedLimits,
) {
  const shutdown = new AbortController()
  const feeds = new Map<string, OpenFeed>()
  const countStream = createStreamCount({ maxPerCaller: perCaller, maxPerConnector: perConnector })
  const state: FeedsState = {
    deps,
    feeds,
    expiringStreams: new Set(),
    shutdownSignal: shutdown.signal,
    idleMs,
    idleCount: 0,
    isTicking: false,
  }
  return {
    /** Opens a stream. @throws Rejection `rate_limited`; Unavailable while the gateway shuts down */
    open(request: FeedRequest): EventStream {
      if (shutdown.signal.aborted)
        throw new Unavailable('Cannot open stream: the gateway is shutting down', { retryAfter: 5 })
      const release = countStream(request)
      // The feed must exist before the listener joins, so that it misses no event.
      prepareFeed(request, state)
      return new EventStream(sink => startStream({ ...request, sink }, release, state))
    },
    /** Tracks a message that was admitted, so that the listeners of its task get its events. */
    track: (key: TaskKey, message: number) => feeds.get(feedKeyOf(key))?.feed.track(message),
    /** Returns true if the events after this one are still stored. */
    hasEventsAfter: (key: TaskKey, eventId: string) => feeds.get(feedKeyOf(key))?.feed.hasEventsAfter(eventId) ?? false,
    /** Ends every stream permanently. */
    close(): void {
      shutdown.abort()
      for (const feed of feeds.values()) dispose(feed, state)
    },
  }
}

/** Creates the count of streams for their listeners, and for the connectors that the listeners use. @throws Rejection `rate_limited` */
function createStreamCount({
  maxPerCaller: perCaller,
  maxPerConnector: perConnector,
}: Pick<FeedLimits, 'maxPerCaller' | 'maxPerConnector'>): (request: FeedRequest) => () => void {
  const refuse = (owner: string) => () =>
    new Rejection('rate_limited', `Cannot open stream: the ${owner} has too many open`, { retryAfter: 10 })
  const countForListener = createOpenCount(perCaller, refuse('caller'))
  const countForConnector = createOpenCount(perConnector, refuse('connector'))
  return ({ listenerKey, connectorKey }) => {
    const releaseListener = countForListener(listenerKey)
    if (connectorKey === undefined) return releaseListener
    try {
      const releaseConnector = countForConnector(connectorKey)
      return () => {
        releaseListener()
        releaseConnector()
      }
    } catch (error) {
      releaseListener()
      throw error
    }
  }
}

/** Adds a listener to the feed of its task. Returns the function that removes the listener. */
function startStream(request: FeedRequest & FeedListener, release: () => void, state: FeedsState): () => void {
  const { sink, endsAt } = request
  const { idleMs, deps, expiringStreams } = state
  const openFeed = prepareFeed(request, state)
  let lastEventAt = deps.system.now()
  const listener: FeedListener = {
    ...request,
    sink: {
      send(event, id) {
        lastEventAt = deps.system.now()
        sink.send(event, id)
      },
      beat() {
        if (deps.system.now() < lastEventAt + idleMs) sink.beat()
        else endStream()
      },
      end(error) {
        releaseStream()
        sink.end(error)
      },
    },
  }
  const endStream = () => {
    leaveFeed()
    sink.end()
  }
  const expiringStream = endsAt === undefined ? undefined : { endsAt, end: endStream }
  const releaseStream = () => {
    release()
    if (expiringStream) expiringStreams.delete(expiringStream)
  }
  const leaveFeed = () => {
    releaseStream()
    openFeed.feed.leave(listener)
  }
  if (expiringStream) expiringStreams.add(expiringStream)
  openFeed.feed.join(listener)
  return leaveFeed
}

async function runTicks(state: FeedsState): Promise<void> {
  if (state.isTicking) return
  state.isTicking = true
  while (state.feeds.size > 0 && !state.shutdownSignal.aborted) {
    await state.deps.system.sleep(tickMs, state.shutdownSignal)
    for (const openFeed of state.feeds.values()) tickFeed(openFeed, state)
    // The task continues, and its caller can subscribe to it again with a new token.
    for (const { endsAt, end } of state.expiringStreams) if (state.deps.system.now() >= endsAt) end()
  }
  state.isTicking = false
}

function tickFeed(openFeed: OpenFeed, state: FeedsState): void {
  openFeed.ticks += 1
  if (openFeed.idleAt !== undefined && state.deps.system.now() >= openFeed.idleAt + replayMs) dispose(openFeed, state)
  if (openFeed.ticks % heartbeatTicks === 0) openFeed.feed.beat()
  if (isQueryDue(openFeed.ticks)) openFeed.feed.poll()
  // This closes a feed whose expected listener never joined.
  if (openFeed.ticks % heartbeatTicks === 0 && openFeed.feed.isIdle()) closeIfIdle(openFeed, state)
}

function dispose(openFeed: OpenFeed, state: FeedsState): void {
  if (state.feeds.get(openFeed.name) !== openFeed) return
  state.feeds.delete(openFeed.name)
  if (openFeed.idleAt !== undefined) state.idleCount -= 1
  openFeed.feed.close()
}

function findFeed(key: TaskKey, state: FeedsState): OpenFeed {
  const name = feedKeyOf(key)
  const openedFeed = state.feeds.get(name)
  if (openedFeed) return openedFeed
  const feed = createTaskFeed(state.deps, {
    key,
    epoch: randomHex(state.deps.system, 6),
    keepsEvents: () => openFeed.canReplay,
    onIdle: () => closeIfIdle(openFeed, state),
  })
  const openFeed: OpenFeed = { name, feed, canReplay: false, ticks: 0, idleAt: undefined }
  state.feeds.set(name, openFeed)
  return openFeed
}

function prepareFeed({ key, canReplay, messages }: FeedRequest, state: FeedsState): OpenFeed {
  const openFeed = findFeed(key, state)
  if (openFeed.idleAt !== undefined) {
    openFeed.idleAt = undefined
    state.idleCount -= 1
  }
  openFeed.canReplay ||= canReplay
  for (const message of messages) openFeed.feed.track(message)
  void runTicks(state)
  return openFeed
}

/** Removes a feed without listeners, or keeps it for a while if a caller may reconnect. */
function closeIfIdle(openFeed: OpenFeed, state: FeedsState): void {
  if (openFeed.idleAt !== undefined) return
  if (!openFeed.canReplay || state.idleCount >= maxIdleFeeds || state.shutdownSignal.aborted) {
    dispose(openFeed, state)
    return
  }
  openFeed.idleAt = state.deps.system.now()
  state.idleCount += 1
}

/** Returns the name of a feed, which is unique because neither an owner nor an id contains a line break. */
function feedKeyOf({ owner, id }: TaskKey): string {
  return `${id}\n${owner}`
}
