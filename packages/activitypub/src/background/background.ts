// Fetches the posts that a reply answers and quotes, within a budget of posts, size and time.
import { createExpiringMap } from '@postern/limits'
import type { Part, System } from '@postern/message'
import { isoTime, Rejection, Unavailable, Undeliverable } from '@postern/message'
import type { BackgroundEntry, RelationStore, Store, Turn } from '@postern/pipeline'
import { findHost, findIri } from '../format/iri.ts'
import type { ReplyTarget } from '../format/post-data.ts'
import { readReferences } from '../format/targets.ts'
import type { ActorCache } from '../peers/actor-cache.ts'
import type { RemoteActor } from '../peers/actor-document.ts'
import { ignoreFaults } from '../peers/peer-faults.ts'
import type { FindRemotePost, RemotePost } from './remote-posts.ts'

interface BackgroundDeps extends EntryDeps {
  readonly system: Pick<System, 'sleep'>
  readonly store: Pick<Store, 'hasEntry' | 'findRelation'>
  readonly findRemotePost: FindRemotePost
  /** The origin of this gateway. */
  readonly origin: string
}

/** The limits for one turn: the number of posts, the UTF-16 code units of their content, and the time in ms. */
const walkBudget = { posts: 20, size: 65_536, ms: 5_000 } as const
/**
 * The most concurrent walks, for the senders of one host and in total. The total is lower than the number of concurrent turns of one agent. A
 * turn above these limits runs without the earlier posts.
 */
const maxConcurrentWalks = { perHost: 8, total: 16 } as const
/**
 * The number of stalled walks within about a minute after which no other walk starts, for one sender and for all senders of a host. A walk is
 * stalled if it ran out of time.
 */
const maxStalledWalks = { perSender: 1, perHost: 6 } as const

/**
 * Creates the function that fetches the posts before a reply, oldest first, and then the post that the reply quotes. The walk follows `inReplyTo`
 * upwards. It stops at a post that the thread contains, that is ours, that is not available or not public, or that exceeds the budget. It does not follow
 * collections (`replies`, `context`), because others can add to them without end.
 */
export function createBackground(deps: BackgroundDeps) {
  const beginWalk = createWalkLimit(deps.now)
  return async function fetchBackground(turn: Turn, signal: AbortSignal): Promise<readonly BackgroundEntry[]> {
    const { parent, quote, sender } = readReferences(turn)
    const endWalk = beginWalk(sender.actor)
    if (!endWalk) return []
    const timeBudget = startTimeBudget(deps.system, walkBudget.ms, signal)
    try {
      const walk: Walk = { turn, deps, timeBudget, reader: { agent: turn.agent, sender } }
      const maxPosts = quote ? walkBudget.posts - 1 : walkBudget.posts
      const [parents, quotedEntries] = await Promise.all([
        fetchParents(parent, walk, maxPosts),
        fetchQuotedPost(quote, walk),
      ])
      return [
        ...parents,
        ...quotedEntries.filter(({ nativeId }) => parents.every(entry => entry.nativeId !== nativeId)),
      ]
    } finally {
      endWalk(timeBudget.isOver())
      timeBudget.stop()
    }
  }
}

interface Walk {
  readonly turn: Turn
  readonly deps: BackgroundDeps
  readonly timeBudget: TimeBudget
  readonly reader: Reader
}

async function fetchQuotedPost(quote: string | undefined, walk: Walk): Promise<readonly BackgroundEntry[]> {
  const post = quote && (await findNext(quote, walk, new Set()))
  const entry = post && (await walk.timeBudget.limit(toBackgroundEntry(post, walk.reader, walk.deps)))
  return entry ? [markQuoted(entry)] : []
}

/** Fetches the chain of earlier posts. The authors are looked up during the walk, because the last step may use up all the time. */
async function fetchParents(
  firstIri: string | undefined,
  walk: Walk,
  maxPosts: number,
): Promise<readonly BackgroundEntry[]> {
  const entries: Promise<BackgroundEntry | undefined>[] = []
  const seenIris = new Set<string>()
  let remainingSize = walkBudget.size
  let nextIri = firstIri
  while (nextIri && entries.length < maxPosts) {
    const post = await findNext(nextIri, walk, seenIris)
    remainingSize -= post ? JSON.stringify(post.parts).length : 0
    if (!post || remainingSize < 0) break
    const entry = walk.timeBudget.limit(toBackgroundEntry(post, walk.reader, walk.deps))
    // The rejection is handled below, where all entries are awaited.
    entry.catch(() => undefined)
    entries.push(entry)
    nextIri = post.inReplyTo
  }
  return (await Promise.all(entries)).filter(entry => entry !== undefined).reverse()
}

/** Finds the post with an IRI, if the thread does not contain that post yet. `seenIris` contains the IRIs of this walk. */
async function findNext(
  iriText: string,
  { turn, deps, timeBudget }: Walk,
  seenIris: Set<string>,
): Promise<RemotePost | undefined> {
  const iri = findIri(iriText)
  if (!iri || iri.origin === deps.origin || seenIris.has(iri.href) || timeBudget.isOver()) return undefined
  seenIris.add(iri.href)
  if (await deps.store.hasEntry(turn, iri.href)) return undefined
  const post = await timeBudget.limit(deps.findRemotePost(iri))
  if (!post || post.id === iri.href) return post
  // The post has another id than the requested IRI.
  const isNew = !seenIris.has(post.id) && !(await deps.store.hasEntry(turn, post.id))
  seenIris.add(post.id)
  return isNew ? post : undefined
}

interface EntryDeps {
  readonly actors: Pick<ActorCache, 'find'>
  readonly store: Pick<RelationStore, 'findRelation'>
  now(): number
}

/** The readers of a post: the agent, and the sender of the message that replies to it or quotes it. */
interface Reader {
  readonly agent: string
  readonly sender: Pick<ReplyTarget, 'actor' | 'address'>
}

/**
 * Returns a post as an entry by its author, or undefined if the author cannot be found or blocks the agent. The handle is the one that the
 * author's server states, without a WebFinger check. It is only displayed and grants nothing.
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
    : await ignoreFaults([Unavailable, Undeliverable, Rejection], () => actors.find(post.author))
  if (!actor) return undefined
  const address = actor.id === sender.actor && sender.address ? sender.address : formatAuthorAddress(actor)
  return {
    nativeId: post.id,
    author: { address, ...(actor.name && { display_name: actor.name }) },
    parts: post.parts,
    at: isoTime(clampTime(post.publishedAt, now())),
    principal: actor.id,
  }
}

/** Marks an entry as a quote and names its author in the text, for clients that read only the text. */
function markQuoted(entry: BackgroundEntry): BackgroundEntry {
  const heading = `Quoted post, by ${entry.author.address}:`
  const addHeading = (part: Part): Part =>
    part.kind === 'text' ? { ...part, content: `${heading}\n\n${part.content}` } : part
  return { ...entry, parts: entry.parts.map(addHeading), isQuoted: true }
}

function formatAuthorAddress({ username, host }: RemoteActor): string {
  return `@${username ?? '~unconfirmed'}@${host}`
}

/** Returns the publication time, or the present time if the publication time is absent or in the future. */
function clampTime(published: number | undefined, now: number): number {
  return published !== undefined && published > 0 && published <= now ? published : now
}

type TimeBudget = ReturnType<typeof startTimeBudget>

/** Starts a time budget that ends after `ms`, or when `signal` aborts. */
function startTimeBudget({ sleep }: Pick<System, 'sleep'>, ms: number, signal: AbortSignal) {
  const controller = new AbortController()
  let hasExpired = false
  const expiry = sleep(ms, AbortSignal.any([signal, controller.signal])).then(() => {
    hasExpired = true
    return undefined
  })
  return {
    isOver: () => hasExpired,
    /** Returns the result of `work`, or undefined if the time ends first. The work itself continues. */
    limit: <Result>(work: Promise<Result>): Promise<Result | undefined> => Promise.race([work, expiry]),
    /** Stops the timer. */
    stop: () => controller.abort(),
  }
}

const stalledMs = 60_000
const maxSenders = 2_000

/**
 * Creates the limit of concurrent walks. A walk delays its turn and the rest of the thread, so a sender who names unresponsive hosts must not
 * block all turns, nor delay the threads of others for long. The returned function starts a walk for a sender (an actor's IRI). It returns a
 * function to call once when the walk ends, or undefined if the sender may not start another walk now.
 */
function createWalkLimit(now: () => number) {
  const walksByHost = new Map<string, number>()
  const stallCounts = createExpiringMap<number>(maxSenders, now)
  let total = 0

  function mayBegin(sender: string, host: string): boolean {
    if (total >= maxConcurrentWalks.total || (walksByHost.get(host) ?? 0) >= maxConcurrentWalks.perHost) return false
    return (
      (stallCounts.get(sender) ?? 0) < maxStalledWalks.perSender &&
      (stallCounts.get(host) ?? 0) < maxStalledWalks.perHost
    )
  }

  function changeCounts(host: string, change: 1 | -1): void {
    total += change
    const newCount = (walksByHost.get(host) ?? 0) + change
    if (newCount > 0) walksByHost.set(host, newCount)
    else walksByHost.delete(host)
  }

  return (sender: string) => {
    const host = findHost(sender) ?? ''
    if (!mayBegin(sender, host)) return undefined
    changeCounts(host, 1)
    /** Ends the walk. `isStalled` means that the walk used up its time. */
    return (isStalled: boolean): void => {
      changeCounts(host, -1)
      if (!isStalled) return
      for (const name of [sender, host]) stallCounts.set(name, (stallCounts.get(name) ?? 0) + 1, stalledMs)
    }
  }
}
