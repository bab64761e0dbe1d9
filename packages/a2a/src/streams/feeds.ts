import type { Platform, TaskKey } from '@postern/core'
import { Rejection, randomHex, Unavailable } from '@postern/core'
import { createOpenCount } from '@postern/limits'
import { isLookDue } from '../tasks/lifetime.ts'
import type { FeedDeps, FeedListener } from './feed-state.ts'
import { EventStream } from './sse.ts'
import type { TaskFeed } from './task-feed.ts'
import { createTaskFeed } from './task-feed.ts'

/** A stream that a caller asks for. */
interface FeedRequest extends Omit<FeedListener, 'sink'> {
  readonly key: TaskKey
  /** The quota that the stream counts for. */
  readonly listenerKey: string
  /** Keeps events for a while, so that the caller can come back after a broken connection. */
  readonly canReplay: boolean
  /** Messages whose turns may be open. */
  readonly messages: readonly number[]
}

export type Feeds = ReturnType<typeof createFeeds>

interface FeedLimits {
  /** Streams of one caller at a time. */
  readonly perCaller: number
  /** A stream without events for so long ends, ms. */
  readonly idleMs: number
}

/** One timer serves all streams. */
const tickMs = 250
const heartbeatTicks = 15_000 / tickMs
/** How long events are kept after the last listener has left, ms. */
const replayMs = 60_000
/** Tasks without listeners whose events are kept. */
const maxLingering = 1_000

interface OpenFeed {
  readonly name: string
  readonly feed: TaskFeed
  canReplay: boolean
  ticks: number
  /** ms; undefined while there are listeners. */
  idleSince: number | undefined
}

type FeedsDeps = FeedDeps & { readonly platform: Pick<Platform, 'randomBytes'> }

interface FeedsState {
  readonly deps: FeedsDeps
  readonly feeds: Map<string, OpenFeed>
  readonly closing: AbortSignal
  readonly idleMs: number
  lingering: number
  isTicking: boolean
}

export function createFeeds(deps: FeedsDeps, { perCaller, idleMs }: FeedLimits) {
  const closing = new AbortController()
  const feeds = new Map<string, OpenFeed>()
  const enterStream = createOpenCount(
    perCaller,
    () => new Rejection('rate_limited', 'Cannot open stream: the caller has too many open', { retryAfter: 10 }),
  )
  const all: FeedsState = { deps, feeds, closing: closing.signal, idleMs, lingering: 0, isTicking: false }
  return {
    /** @throws Rejection `rate_limited`; Unavailable while the gateway shuts down */
    open(request: FeedRequest): EventStream {
      if (closing.signal.aborted)
        throw new Unavailable('Cannot open stream: the gateway is shutting down', { retryAfter: 5 })
      const release = enterStream(request.listenerKey)
      // The feed listens from now on, because the listener joins a moment later.
      enter(request, all)
      return new EventStream(sink => startStream({ ...request, sink }, release, all))
    },
    /** A message was admitted: the listeners of its task get its events. */
    track: (key: TaskKey, message: number) => feeds.get(nameOf(key))?.feed.track(message),
    /** Whether the events after this one are still known. */
    knows: (key: TaskKey, eventId: string) => feeds.get(nameOf(key))?.feed.knows(eventId) ?? false,
    /** Ends every stream permanently. */
    close(): void {
      closing.abort()
      for (const open of feeds.values()) dispose(open, all)
    },
  }
}

/** Joins the feed; returns what leaves it. */
function startStream(request: FeedRequest & FeedListener, release: () => void, all: FeedsState): () => void {
  const { sink } = request
  const { idleMs, deps } = all
  const open = enter(request, all)
  let busyAt = deps.platform.now()
  const listener: FeedListener = {
    ...request,
    sink: {
      send(event, id) {
        busyAt = deps.platform.now()
        sink.send(event, id)
      },
      beat() {
        if (deps.platform.now() < busyAt + idleMs) return sink.beat()
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
    await all.deps.platform.sleep(tickMs, all.closing)
    for (const open of all.feeds.values()) pass(open, all)
  }
  all.isTicking = false
}

function pass(open: OpenFeed, all: FeedsState): void {
  open.ticks += 1
  if (open.idleSince !== undefined && all.deps.platform.now() >= open.idleSince + replayMs) dispose(open, all)
  if (open.ticks % heartbeatTicks === 0) open.feed.beat()
  if (isLookDue(open.ticks)) open.feed.look()
  // The expected listener never came.
  if (open.ticks % heartbeatTicks === 0 && open.feed.isIdle()) rest(open, all)
}

function dispose(open: OpenFeed, all: FeedsState): void {
  if (all.feeds.get(open.name) !== open) return
  all.feeds.delete(open.name)
  if (open.idleSince !== undefined) all.lingering -= 1
  open.feed.close()
}

function findFeed(key: TaskKey, all: FeedsState): OpenFeed {
  const name = nameOf(key)
  const known = all.feeds.get(name)
  if (known) return known
  const feed = createTaskFeed(all.deps, {
    key,
    epoch: randomHex(all.deps.platform, 6),
    keepsEvents: () => open.canReplay,
    onIdle: () => rest(open, all),
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

/** Removes a feed without listeners at once, unless a caller may come back. */
function rest(open: OpenFeed, all: FeedsState): void {
  if (open.idleSince !== undefined) return
  if (!open.canReplay || all.lingering >= maxLingering || all.closing.aborted) {
    dispose(open, all)
    return
  }
  open.idleSince = all.deps.platform.now()
  all.lingering += 1
}

/** Neither an owner nor an id contains a line break. */
function nameOf({ owner, id }: TaskKey): string {
  return `${id}\n${owner}`
}
