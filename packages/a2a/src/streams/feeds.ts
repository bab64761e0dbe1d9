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
  /** True to store events for a while, so that the caller can continue after a broken connection. */
  readonly canReplay: boolean
  /** The numbers of messages whose turns may be open. */
  readonly messages: readonly number[]
}

export type Feeds = ReturnType<typeof createFeeds>

interface FeedLimits {
  /** The most concurrent streams of one caller. */
  readonly perCaller: number
  /** The most concurrent streams of all people of one connector. */
  readonly perConnector: number
  /** The time without events after which a stream ends, ms. */
  readonly idleMs: number
}

/** The period of the one timer that serves all streams, ms. */
const tickMs = 250
const heartbeatTicks = 15_000 / tickMs
/** The time for which events are stored after the last listener has left, ms. */
const replayMs = 60_000
/** The most tasks without listeners whose events are stored. */
const maxLingering = 1_000

interface OpenFeed {
  readonly name: string
  readonly feed: TaskFeed
  canReplay: boolean
  ticks: number
  /** The time at which the last listener left, in ms since the epoch. Undefined while there are listeners. */
  idleSince: number | undefined
}

type FeedsDeps = FeedDeps & { readonly system: Pick<System, 'randomBytes'> }

interface FeedsState {
  readonly deps: FeedsDeps
  readonly feeds: Map<string, OpenFeed>
  readonly closing: AbortSignal
  readonly idleMs: number
  lingering: number
  isTicking: boolean
}

export function createFeeds(deps: FeedsDeps, { perCaller, perConnector, idleMs }: FeedLimits) {
  const closing = new AbortController()
  const feeds = new Map<string, OpenFeed>()
  const enterStream = createStreamCount({ perCaller, perConnector })
  const all: FeedsState = { deps, feeds, closing: closing.signal, idleMs, lingering: 0, isTicking: false }
  return {
    /** Opens a stream. @throws Rejection `rate_limited`; Unavailable while the gateway shuts down */
    open(request: FeedRequest): EventStream {
      if (closing.signal.aborted)
        throw new Unavailable('Cannot open stream: the gateway is shutting down', { retryAfter: 5 })
      const release = enterStream(request)
      // The feed must exist before the listener joins, so that it misses no event.
      enter(request, all)
      return new EventStream(sink => startStream({ ...request, sink }, release, all))
    },
    /** Tracks a message that was admitted, so that the listeners of its task get its events. */
    track: (key: TaskKey, message: number) => feeds.get(nameOf(key))?.feed.track(message),
    /** Returns true if the events after this one are still known. */
    knows: (key: TaskKey, eventId: string) => feeds.get(nameOf(key))?.feed.knows(eventId) ?? false,
    /** Ends every stream permanently. */
    close(): void {
      closing.abort()
      for (const open of feeds.values()) dispose(open, all)
    },
  }
}

/** Creates the count of streams for their listeners, and for the connectors that the listeners use. @throws Rejection `rate_limited` */
function createStreamCount({
  perCaller,
  perConnector,
}: Pick<FeedLimits, 'perCaller' | 'perConnector'>): (request: FeedRequest) => () => void {
  const refuse = (whose: string) => () =>
    new Rejection('rate_limited', `Cannot open stream: the ${whose} has too many open`, { retryAfter: 10 })
  const enterOwn = createOpenCount(perCaller, refuse('caller'))
  const enterConnector = createOpenCount(perConnector, refuse('connector'))
  return ({ listenerKey, connectorKey }) => {
    const leave = enterOwn(listenerKey)
    if (connectorKey === undefined) return leave
    try {
      const leaveConnector = enterConnector(connectorKey)
      return () => {
        leave()
        leaveConnector()
      }
    } catch (error) {
      leave()
      throw error
    }
  }
}

/** Joins the feed. Returns the function that leaves it. */
function startStream(request: FeedRequest & FeedListener, release: () => void, all: FeedsState): () => void {
  const { sink } = request
  const { idleMs, deps } = all
  const open = enter(request, all)
  let busyAt = deps.system.now()
  const listener: FeedListener = {
    ...request,
    sink: {
      send(event, id) {
        busyAt = deps.system.now()
        sink.send(event, id)
      },
      beat() {
        if (deps.system.now() < busyAt + idleMs) return sink.beat()
        leave()
        sink.end()
      },
      end(error) {
        release()
        sink.end(error)
      },
    },
  }
  const leave = () => {
    release()
    open.feed.leave(listener)
  }
  open.feed.join(listener)
  return leave
}

async function tick(all: FeedsState): Promise<void> {
  if (all.isTicking) return
  all.isTicking = true
  while (all.feeds.size > 0 && !all.closing.aborted) {
    await all.deps.system.sleep(tickMs, all.closing)
    for (const open of all.feeds.values()) pass(open, all)
  }
  all.isTicking = false
}

function pass(open: OpenFeed, all: FeedsState): void {
  open.ticks += 1
  if (open.idleSince !== undefined && all.deps.system.now() >= open.idleSince + replayMs) dispose(open, all)
  if (open.ticks % heartbeatTicks === 0) open.feed.beat()
  if (isQueryDue(open.ticks)) open.feed.poll()
  // A feed whose expected listener never joined is closed here.
  if (open.ticks % heartbeatTicks === 0 && open.feed.isIdle()) closeIfIdle(open, all)
}

function dispose(open: OpenFeed, all: FeedsState): void {
  if (all.feeds.get(open.name) !== open) return
  all.feeds.delete(open.name)
  if (open.idleSince !== undefined) all.lingering -= 1
  open.feed.close()
}

function findFeed(key: TaskKey, all: FeedsState): OpenFeed {
  const name = nameOf(key)
  const openedFeed = all.feeds.get(name)
  if (openedFeed) return openedFeed
  const feed = createTaskFeed(all.deps, {
    key,
    epoch: randomHex(all.deps.system, 6),
    keepsEvents: () => open.canReplay,
    onIdle: () => closeIfIdle(open, all),
  })
  const open: OpenFeed = { name, feed, canReplay: false, ticks: 0, idleSince: undefined }
  all.feeds.set(name, open)
  return open
}

function enter({ key, canReplay, messages }: FeedRequest, all: FeedsState): OpenFeed {
  const open = findFeed(key, all)
  if (open.idleSince !== undefined) {
    open.idleSince = undefined
    all.lingering -= 1
  }
  open.canReplay ||= canReplay
  for (const message of messages) open.feed.track(message)
  void tick(all)
  return open
}

/** Removes a feed without listeners at once, unless a caller may reconnect. */
function closeIfIdle(open: OpenFeed, all: FeedsState): void {
  if (open.idleSince !== undefined) return
  if (!open.canReplay || all.lingering >= maxLingering || all.closing.aborted) {
    dispose(open, all)
    return
  }
  open.idleSince = all.deps.system.now()
  all.lingering += 1
}

/** Returns the name of a feed, which is unique because neither an owner nor an id contains a line break. */
function nameOf({ owner, id }: TaskKey): string {
  return `${id}\n${owner}`
}
