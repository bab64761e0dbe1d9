import type { Platform, TaskKey } from '@postern/core'
import { Rejection, randomHex, Unavailable } from '@postern/core'
import { isLookDue } from '../tasks/await-task.ts'
import { EventStream } from './event-stream.ts'
import type { FeedDeps, FeedListener, TaskFeed } from './task-feed.ts'
import { createTaskFeed } from './task-feed.ts'

/** A stream that is asked for. */
interface FeedRequest extends Omit<FeedListener, 'sink'> {
  readonly key: TaskKey
  /** Whose stream it counts as. */
  readonly listenerKey: string
  /** What happens is kept for a while, in case the caller is cut off and comes back. */
  readonly canReplay: boolean
  /** Messages whose turns are, or may be, open. */
  readonly messages: readonly number[]
}

export interface Feeds {
  /** @throws Rejection `rate_limited`; Unavailable while the gateway shuts down */
  open(request: FeedRequest): EventStream
  /** A message was admitted: who listens to its task hears of it. */
  track(key: TaskKey, message: number): void
  /** Whether what happened behind this event is still known. */
  knows(key: TaskKey, eventId: string): boolean
  /** How many listen now. */
  count(): number
  /** Ends every stream, for good. */
  close(): void
}

interface FeedLimits {
  /** Streams of one caller at a time. */
  readonly perCaller: number
  /** A stream on which nothing happens for so long ends, ms. */
  readonly idleMs: number
}

/** One clock serves all streams. */
const tickMs = 250
const heartbeatTicks = 15_000 / tickMs
/** What happened is kept this long after the last listener has gone, ms. */
const replayMs = 60_000
/** Tasks whose events are kept although nobody listens. */
const maxLingering = 1_000

interface OpenFeed {
  readonly feed: TaskFeed
  canReplay: boolean
  ticks: number
  /** ms; undefined while somebody listens. */
  idleSince: number | undefined
}

export function createFeeds(
  deps: FeedDeps & { readonly platform: Pick<Platform, 'randomBytes'> },
  limits: FeedLimits,
): Feeds {
  const { platform } = deps
  const feeds = new Map<string, OpenFeed>()
  const perCaller = new Map<string, number>()
  const closing = new AbortController()
  let lingering = 0
  let isTicking = false

  async function tick(): Promise<void> {
    if (isTicking) return
    isTicking = true
    while (feeds.size > 0 && !closing.signal.aborted) {
      await platform.sleep(tickMs, closing.signal)
      for (const [name, open] of feeds) pass(name, open)
    }
    isTicking = false
  }

  function pass(name: string, open: OpenFeed): void {
    open.ticks += 1
    if (open.idleSince !== undefined && platform.now() >= open.idleSince + replayMs) dispose(name, open)
    if (open.ticks % heartbeatTicks === 0) open.feed.beat()
    if (isLookDue(open.ticks)) open.feed.look()
    // Who was expected never came.
    if (open.ticks % heartbeatTicks === 0 && open.feed.isIdle()) rest(name, open)
  }

  function dispose(name: string, open: OpenFeed): void {
    if (feeds.get(name) !== open) return
    feeds.delete(name)
    if (open.idleSince !== undefined) lingering -= 1
    open.feed.close()
  }

  function findFeed(key: TaskKey): OpenFeed {
    const name = nameOf(key)
    const known = feeds.get(name)
    if (known) return known
    const feed = createTaskFeed(deps, {
      key,
      epoch: randomHex(platform, 6),
      keepsEvents: () => open.canReplay,
      onIdle: () => rest(name, open),
    })
    const open: OpenFeed = { feed, canReplay: false, ticks: 0, idleSince: undefined }
    feeds.set(name, open)
    return open
  }

  function enter({ key, canReplay, messages }: FeedRequest): OpenFeed {
    const open = findFeed(key)
    wakeFeed(open)
    open.canReplay ||= canReplay
    for (const message of messages) open.feed.track(message)
    void tick()
    return open
  }

  /** Nobody listens: gone at once, unless somebody may come back. */
  function rest(name: string, open: OpenFeed): void {
    if (open.idleSince !== undefined) return
    if (!open.canReplay || lingering >= maxLingering || closing.signal.aborted) {
      dispose(name, open)
      return
    }
    open.idleSince = platform.now()
    lingering += 1
  }

  function wakeFeed(open: OpenFeed): void {
    if (open.idleSince === undefined) return
    open.idleSince = undefined
    lingering -= 1
  }

  function take(listenerKey: string): void {
    const taken = perCaller.get(listenerKey) ?? 0
    if (taken >= limits.perCaller) {
      throw new Rejection('rate_limited', 'Cannot open stream: the caller has too many open', { retryAfter: 10 })
    }
    perCaller.set(listenerKey, taken + 1)
  }

  function giveBack(listenerKey: string): void {
    const left = (perCaller.get(listenerKey) ?? 1) - 1
    if (left > 0) perCaller.set(listenerKey, left)
    else perCaller.delete(listenerKey)
  }

  return {
    open(request) {
      if (closing.signal.aborted)
        throw new Unavailable('Cannot open stream: the gateway is shutting down', { retryAfter: 5 })
      take(request.listenerKey)
      // Heard from now on, although the listener only comes in a moment.
      enter(request)
      return new EventStream(sink => {
        const open = enter(request)
        const idle = createIdleClock(limits.idleMs, platform)
        let isOver = false
        const finish = () => {
          if (isOver) return
          isOver = true
          giveBack(request.listenerKey)
        }
        const listener: FeedListener = {
          ...request,
          sink: {
            send(event, id) {
              idle.reset()
              sink.send(event, id)
            },
            beat() {
              if (idle.isOver()) leave()
              else return sink.beat()
              sink.end()
            },
            end(error) {
              finish()
              sink.end(error)
            },
          },
        }
        const leave = () => {
          finish()
          open.feed.leave(listener)
        }
        open.feed.join(listener)
        return leave
      })
    },
    track: (key, message) => feeds.get(nameOf(key))?.feed.track(message),
    knows: (key, eventId) => feeds.get(nameOf(key))?.feed.knows(eventId) ?? false,
    count: () => [...perCaller.values()].reduce((sum, count) => sum + count, 0),
    close() {
      closing.abort()
      for (const [name, open] of feeds) dispose(name, open)
    },
  }
}

/** Neither an owner's parts nor an id hold a line break. */
function nameOf({ owner, id }: TaskKey): string {
  return `${id}\n${owner}`
}

function createIdleClock(idleMs: number, { now }: Pick<Platform, 'now'>) {
  let since = now()
  return {
    reset: () => {
      since = now()
    },
    isOver: () => now() >= since + idleMs,
  }
}
