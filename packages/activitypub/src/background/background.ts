import type { BackgroundEntry, Platform, Store, Turn } from '@postern/core'
import { Rejection } from '@postern/core'
import type { Iri } from '../format/iri.ts'
import { parseIri } from '../format/iri.ts'
import { readReplyTarget } from '../format/reply-target.ts'
import type { EntryDeps, Reader } from './background-entry.ts'
import { markQuoted, toBackgroundEntry } from './background-entry.ts'
import type { RemotePost } from './remote-post.ts'
import type { RemotePosts } from './remote-posts.ts'
import type { TimeBudget } from './time-budget.ts'
import { startTimeBudget } from './time-budget.ts'
import { createWalkLimit } from './walk-limit.ts'

interface BackgroundDeps extends EntryDeps {
  readonly platform: Pick<Platform, 'sleep'>
  readonly store: Pick<Store, 'knows' | 'findRelation'>
  readonly posts: RemotePosts
  /** Our own. */
  readonly origin: string
}

type FetchBackground = (turn: Turn, signal: AbortSignal) => Promise<readonly BackgroundEntry[]>

/** For one turn: posts, UTF-16 code units of what they say, ms. */
const budget = { posts: 20, size: 65_536, ms: 5_000 } as const
/** At the same time; less than the turns of one agent. Without what went before, the others are answered by what they say. */
const atOnce = { ofHost: 8, inAll: 16 } as const
const stalled = { ofSender: 1, ofHost: 6 } as const

/**
 * The posts before a reply, oldest first, and then the one it quotes. The walk follows `inReplyTo` upwards. It stops at
 * a post that the thread knows, that is ours, not available or not public, or that exceeds the budget. It does not
 * follow collections (`replies`, `context`): they list without end what others put there.
 */
export function createBackground(parts: BackgroundDeps): FetchBackground {
  const beginWalk = createWalkLimit({ atOnce, stalled, now: parts.now })
  return async function fetchBackground(turn, signal) {
    const { agent, content } = turn
    const target = readReplyTarget(turn.target)
    const parent = content.kind === undefined || content.kind === 'message' ? content.in_reply_to : undefined
    if (!parent && !target.quote) return []
    const endWalk = beginWalk(target.actor)
    if (!endWalk) return []
    const time = startTimeBudget(parts.platform, budget.ms, signal)
    try {
      const walk: Walk = { turn, parts, time, reader: { agent, sender: target } }
      const maxPosts = target.quote ? budget.posts - 1 : budget.posts
      const [before, quoted] = await Promise.all([
        fetchParents(parent, walk, maxPosts),
        fetchQuoted(target.quote, walk),
      ])
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
  let sizeLeft = budget.size
  let next = first
  while (next && entries.length < most) {
    const post = await findNext(next, walk, seen)
    sizeLeft -= post ? sizeOf(post) : 0
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
  const iri = readIri(name)
  if (!iri || iri.origin === parts.origin || seen.has(iri.href) || time.isOver()) return undefined
  seen.add(iri.href)
  if (await parts.store.knows(turn, iri.href)) return undefined
  const post = await time.within(parts.posts.find(iri))
  if (!post || post.id === iri.href) return post
  // Found under another name.
  const isNew = !seen.has(post.id) && !(await parts.store.knows(turn, post.id))
  seen.add(post.id)
  return isNew ? post : undefined
}

/** A text that is no https IRI leads nowhere. */
function readIri(name: string): Iri | undefined {
  try {
    return parseIri(name, 'a post')
  } catch (error) {
    if (error instanceof Rejection) return undefined
    throw error
  }
}

function sizeOf({ parts }: RemotePost): number {
  return JSON.stringify(parts).length
}
