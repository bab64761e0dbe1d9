import type { BackgroundEntry, Part, Platform, RelationStore, Store, Turn } from '@postern/core'
import { isoTime, Rejection, Unavailable, Undeliverable } from '@postern/core'
import { createExpiringMap } from '@postern/limits'
import { findHost, findIri, readReferences } from '../format/document.ts'
import type { ReplyTarget } from '../format/post-data.ts'
import type { RemoteActor } from '../peers/actor-document.ts'
import type { RemoteActors } from '../peers/known-peers.ts'
import { unless } from '../peers/look-ups.ts'
import type { FindRemotePost, RemotePost } from './remote-posts.ts'

interface BackgroundDeps extends EntryDeps {
  readonly platform: Pick<Platform, 'sleep'>
  readonly store: Pick<Store, 'knows' | 'findRelation'>
  readonly findRemotePost: FindRemotePost
  /** Our own. */
  readonly origin: string
}

/** For one turn: posts, UTF-16 code units of what they say, ms. */
const walkBudget = { posts: 20, size: 65_536, ms: 5_000 } as const
/** At the same time; less than the turns of one agent. Without what went before, the others are answered by what they say. */
const atOnce = { ofHost: 8, inAll: 16 } as const
/** Walks that stalled within a minute or so, after which none begins: for one sender, and for all of a host. */
const stalled = { ofSender: 1, ofHost: 6 } as const

/**
 * The posts before a reply, oldest first, and then the one it quotes. The walk follows `inReplyTo` upwards. It stops at
 * a post that the thread knows, that is ours, not available or not public, or that exceeds the budget. It does not
 * follow collections (`replies`, `context`): they list without end what others put there.
 */
export function createBackground(parts: BackgroundDeps) {
  const beginWalk = createWalkLimit(parts.now)
  return async function fetchBackground(turn: Turn, signal: AbortSignal): Promise<readonly BackgroundEntry[]> {
    const { parent, quote, sender } = readReferences(turn)
    const endWalk = beginWalk(sender.actor)
    if (!endWalk) return []
    const time = startTimeBudget(parts.platform, walkBudget.ms, signal)
    try {
      const walk: Walk = { turn, parts, time, reader: { agent: turn.agent, sender } }
      const maxPosts = quote ? walkBudget.posts - 1 : walkBudget.posts
      const [before, quoted] = await Promise.all([fetchParents(parent, walk, maxPosts), fetchQuoted(quote, walk)])
      return [...before, ...quoted.filter(({ nativeId }) => before.every(entry => entry.nativeId !== nativeId))]
    } finally {
      endWalk(time.isOver())
      time.end()
    }
  }
}

interface Walk {
  readonly turn: Turn
  readonly parts: BackgroundDeps
  readonly time: TimeBudget
  readonly reader: Reader
}

async function fetchQuoted(quote: string | undefined, walk: Walk): Promise<readonly BackgroundEntry[]> {
  const post = quote && (await findNext(quote, walk, new Set()))
  const entry = post && (await walk.time.within(toBackgroundEntry(post, walk.reader, walk.parts)))
  return entry ? [markQuoted(entry)] : []
}

/** The look-ups of the authors run during the walk, because its last step may use up all the time. */
async function fetchParents(first: string | undefined, walk: Walk, most: number): Promise<readonly BackgroundEntry[]> {
  const entries: Promise<BackgroundEntry | undefined>[] = []
  const seen = new Set<string>()
  let sizeLeft = walkBudget.size
  let next = first
  while (next && entries.length < most) {
    const post = await findNext(next, walk, seen)
    sizeLeft -= post ? JSON.stringify(post.parts).length : 0
    if (!post || sizeLeft < 0) break
    const entry = walk.time.within(toBackgroundEntry(post, walk.reader, walk.parts))
    // Awaited below, when the walk is over.
    entry.catch(() => undefined)
    entries.push(entry)
    next = post.inReplyTo
  }
  return (await Promise.all(entries)).filter(entry => entry !== undefined).reverse()
}

/** The post behind a name, if there is one that is new here; `seen` holds those of this walk. */
async function findNext(name: string, { turn, parts, time }: Walk, seen: Set<string>): Promise<RemotePost | undefined> {
  const iri = findIri(name)
  if (!iri || iri.origin === parts.origin || seen.has(iri.href) || time.isOver()) return undefined
  seen.add(iri.href)
  if (await parts.store.knows(turn, iri.href)) return undefined
  const post = await time.within(parts.findRemotePost(iri))
  if (!post || post.id === iri.href) return post
  // Found under another name.
  const isNew = !seen.has(post.id) && !(await parts.store.knows(turn, post.id))
  seen.add(post.id)
  return isNew ? post : undefined
}

interface EntryDeps {
  readonly actors: Pick<RemoteActors, 'find'>
  readonly store: Pick<RelationStore, 'findRelation'>
  now(): number
}

/** The readers of a post: the agent, and the sender whose message follows it. */
interface Reader {
  readonly agent: string
  readonly sender: Pick<ReplyTarget, 'actor' | 'address'>
}

/**
 * A post as an entry of its own author. Undefined when the author cannot be found or blocks the agent. The handle is
 * the one that the author's server gives, without WebFinger: it is for show, and decides nothing.
 */
async function toBackgroundEntry(
  post: RemotePost,
  { agent, sender }: Reader,
  { actors, store, now }: EntryDeps,
): Promise<BackgroundEntry | undefined> {
  const key = { via: 'activitypub', agent, relation: 'blocked_by', peer: post.author.href } as const
  const isBlocked = (await store.findRelation(key)) !== undefined
  const actor = isBlocked
    ? undefined
    : await unless([Unavailable, Undeliverable, Rejection], () => actors.find(post.author))
  if (!actor) return undefined
  const address = actor.id === sender.actor && sender.address ? sender.address : nameAuthor(actor)
  return {
    nativeId: post.id,
    author: { address, ...(actor.name && { display_name: actor.name }) },
    parts: post.parts,
    at: isoTime(saneTime(post.published, now())),
    principal: actor.id,
  }
}

/** Names the author within the text, for those who read the text alone. */
function markQuoted(entry: BackgroundEntry): BackgroundEntry {
  const heading = `Quoted post, by ${entry.author.address}:`
  const mark = (part: Part): Part =>
    part.kind === 'text' ? { ...part, content: `${heading}\n\n${part.content}` } : part
  return { ...entry, parts: entry.parts.map(mark), isQuoted: true }
}

function nameAuthor({ username, host }: RemoteActor): string {
  return `@${username ?? '~unconfirmed'}@${host}`
}

/** A time that has not come yet is none. */
function saneTime(published: number | undefined, now: number): number {
  return published !== undefined && published > 0 && published <= now ? published : now
}

type TimeBudget = ReturnType<typeof startTimeBudget>

/** Over after `ms`, or when `signal` aborts. */
function startTimeBudget({ sleep }: Pick<Platform, 'sleep'>, ms: number, signal: AbortSignal) {
  const controller = new AbortController()
  let isOver = false
  const over = sleep(ms, AbortSignal.any([signal, controller.signal])).then(() => {
    isOver = true
    return undefined
  })
  return {
    isOver: () => isOver,
    /** The result of `work`, or undefined when the time is over first; the work itself continues. */
    within: <Result>(work: Promise<Result>): Promise<Result | undefined> => Promise.race([work, over]),
    /** Stops the timer. */
    end: () => controller.abort(),
  }
}

const stalledMs = 60_000
const maxSenders = 2_000

/**
 * A walk makes a turn wait, and its thread with it. A sender who names hosts that hang must not block all turns, nor
 * the threads of others for long. What it returns starts a walk for a sender (an actor's IRI), and gives what is to be called once when the walk is
 * over; undefined when the sender may not start another one.
 */
function createWalkLimit(now: () => number) {
  const walking = new Map<string, number>()
  const stalls = createExpiringMap<number>(maxSenders, now)
  let total = 0

  function isOpen(sender: string, host: string): boolean {
    if (total >= atOnce.inAll || (walking.get(host) ?? 0) >= atOnce.ofHost) return false
    return (stalls.get(sender) ?? 0) < stalled.ofSender && (stalls.get(host) ?? 0) < stalled.ofHost
  }

  function count(host: string, change: 1 | -1): void {
    total += change
    const counted = (walking.get(host) ?? 0) + change
    if (counted > 0) walking.set(host, counted)
    else walking.delete(host)
  }

  return (sender: string) => {
    const host = findHost(sender) ?? ''
    if (!isOpen(sender, host)) return undefined
    count(host, 1)
    /** `isStalled`: it took all the time there is. */
    return (isStalled: boolean): void => {
      count(host, -1)
      if (!isStalled) return
      for (const name of [sender, host]) stalls.set(name, (stalls.get(name) ?? 0) + 1, stalledMs)
    }
  }
}
