// Fetches public posts of other servers, and caches results and failures.
import { createExpiringMap, createKeyedSemaphore, createSingleFlight } from '@postern/limits'
import type { Part } from '@postern/message'
import { Rejection, Unavailable, Undeliverable } from '@postern/message'
import type { IsBlocked } from '../domains/blocklist.ts'
import { isBlockedPart } from '../domains/blocklist.ts'
import { checkPost, isReadablePost } from '../format/check-post.ts'
import type { Iri } from '../format/iri.ts'
import { isOnOrigin, parseIri } from '../format/iri.ts'
import type { JsonObject } from '../format/json-object.ts'
import { asObject, idOf, idsOf, textOf } from '../format/json-object.ts'
import { isReadableByEveryone, readVisibility } from '../format/visibility.ts'
import { normalizeNote } from '../html/read-note.ts'
import { createFetchLimit } from '../peers/fetch-limits.ts'
import type { FetchActorDeps } from '../peers/fetched-document.ts'

/** Finds the post with this IRI in the cache or at its origin. Returns undefined if the post is not available. It never throws for a fault of the peer. */
export type FindRemotePost = (iri: Iri) => Promise<RemotePost | undefined>

interface RemotePostDeps extends FetchActorDeps {
  readonly isBlocked: IsBlocked
}

/** The result of a lookup. A failure is also cached, so that many replies in one thread cause only one lookup in a while. */
interface PostLookup {
  readonly post: RemotePost | undefined
}

const maxCachedPosts = 300
const maxHosts = 2_000
const cacheMs = { result: 10 * 60_000, refused: 5 * 60_000, hostDown: 60_000, fault: 60_000 } as const
/** The wait, in ms, after which a host that has not answered delays no further turns. */
const slowHostMs = 3_000
/**
 * The maximum numbers of lookups at one host that run at the same time and that wait in the queue. A turn that waits for a lookup ends by its own
 * time limit.
 */
const hostQueue = { maxRunning: 1, maxWaiting: 15 } as const
const neverAbortedSignal = new AbortController().signal
const backOffStatuses: ReadonlySet<number> = new Set([429, 503])
/** The maximum number of lookups per minute that strangers can cause, for one host and in total. */
const fetchesPerMinute = { perHost: 120, total: 1_200 } as const

export function createPostFinder({ fetchDocument, isBlocked, now }: RemotePostDeps): FindRemotePost {
  const posts = createExpiringMap<PostLookup>(maxCachedPosts, now)
  const failures = createExpiringMap<PostLookup>(maxHosts, now)
  const unreachableHosts = createExpiringMap<true>(maxHosts, now)
  const requestStartedAt = new Map<string, number>()
  const singleFlight = createSingleFlight<PostLookup>()
  const queues = createKeyedSemaphore(hostQueue)
  const fetchLimit = createFetchLimit(fetchesPerMinute, now)

  function fetchLimited(iri: Iri): Promise<unknown> {
    return queues.run(iri.host, neverAbortedSignal, async () => {
      // The host may have failed while this lookup was in the queue.
      if (unreachableHosts.get(iri.host)) throw new Unavailable('Cannot fetch post: its host did not answer lately')
      fetchLimit.consume(iri.host)
      requestStartedAt.set(iri.host, now())
      try {
        const result = await fetchDocument(iri.href)
        return result.state === 'found' ? result.document : undefined
      } catch (error) {
        if (isHostDown(error)) unreachableHosts.set(iri.host, true, cacheMs.hostDown)
        throw error
      } finally {
        requestStartedAt.delete(iri.host)
      }
    })
  }

  /** Fetches a post. The address of a page leads to the id of the post, and the document at that id must name the same id. */
  async function fetchPost(iri: Iri): Promise<RemotePost> {
    const document = await fetchLimited(iri)
    const canonicalIri = findCanonicalIri(document, iri)
    return canonicalIri
      ? parsePost(await fetchLimited(canonicalIri), canonicalIri, isBlocked)
      : parsePost(document, iri, isBlocked)
  }

  async function fetchAndCache(iri: Iri): Promise<PostLookup> {
    try {
      const result = { post: await fetchPost(iri) }
      posts.set(iri.href, result, cacheMs.result)
      return result
    } catch (error) {
      const cacheDurationMs = failureCacheMs(error)
      if (cacheDurationMs > 0) failures.set(iri.href, { post: undefined }, cacheDurationMs)
      return { post: undefined }
    }
  }

  return async iri => {
    const result = posts.get(iri.href) ?? failures.get(iri.href)
    if (result) return result.post
    const isHostSlow = now() - (requestStartedAt.get(iri.host) ?? now()) >= slowHostMs
    return isHostSlow || unreachableHosts.get(iri.host)
      ? undefined
      : (await singleFlight(iri.href, () => fetchAndCache(iri))).post
  }
}

/**
 * Returns true if the host did not answer or asked us to wait. Any other failure of one address proves nothing about the rest of the host,
 * because strangers choose the addresses.
 */
function isHostDown(error: unknown): boolean {
  return error instanceof Unavailable && (error.status === undefined || backOffStatuses.has(error.status))
}

/** Returns the time for which a failed lookup is cached, ms. The time is 0 if our own limit prevented the request. */
function failureCacheMs(error: unknown): number {
  if (error instanceof Unavailable) return error.status === undefined ? 0 : cacheMs.fault
  if (error instanceof Rejection && error.code === 'rate_limited') return 0
  if (error instanceof Undeliverable || error instanceof Rejection) return cacheMs.refused
  throw error
}

/** A peer's post as its own server shows it to everyone. */
export interface RemotePost {
  readonly id: string
  readonly author: Iri
  readonly parts: readonly Part[]
  readonly inReplyTo: string | undefined
  /** The publication time that its server states, in ms since the epoch. Undefined if it states none. */
  readonly publishedAt: number | undefined
}

/** The most UTF-16 code units of one post's text. The rest of a longer text is cut off. */
const maxTextChars = 16_384
/** The most attachments of a post, and the most UTF-16 code units of each as JSON. */
const attachmentLimits = { parts: 16, size: 4_096 } as const

const noOwnNames = { isOwnMention: () => false, addresses: [] }

/**
 * Reads a post fetched from the origin of `iri`. It accepts public posts only: a post that our server may read is not meant for everyone who
 * names it in a reply.
 * @throws Undeliverable if the document is no post, another post, or not public
 * @throws Rejection `malformed`, `too_large`
 */
function parsePost(document: unknown, iri: Iri, isBlocked: IsBlocked): RemotePost {
  const json = asObject(document)
  if (!json || json.id !== iri.href) throw refusePost('the document is of another post')
  if (!isReadablePost(json)) throw refusePost('the document is no post')
  checkPost(json)
  const visibility = readVisibility(json, undefined)
  if (!visibility || !isReadableByEveryone(visibility)) throw refusePost('it is not for everybody')
  return {
    id: iri.href,
    author: readAuthor(json, iri),
    parts: readParts(json, isBlocked),
    inReplyTo: idOf(json.inReplyTo),
    publishedAt: readTime(json.published),
  }
}

/** Finds a different id that a document fetched from `iri` has on the same origin, as a page's address leads to its post. */
function findCanonicalIri(document: unknown, iri: Iri): Iri | undefined {
  const id = textOf(asObject(document)?.id)
  return id && id !== iri.href && isOnOrigin(id, iri.origin) ? parseIri(id, "the post's id") : undefined
}

/** Reads the author of a post, who must be an actor of the same origin (FEP-fe34). */
function readAuthor(json: JsonObject, { origin }: Iri): Iri {
  const author = idsOf(json.attributedTo).find(id => isOnOrigin(id, origin))
  if (!author) throw refusePost('it is attributed to nobody on its own host')
  return parseIri(author, "the post's author")
}

/** Reads the parts of a post. Hidden text is removed. Quotes, links and files stay addresses, and those on blocked hosts are left out. */
function readParts(json: JsonObject, isBlocked: IsBlocked): readonly Part[] {
  const [textPart, ...attachments] = normalizeNote(json, noOwnNames).parts
  const keptAttachments = attachments
    .filter(part => !isBlockedPart(part, isBlocked) && JSON.stringify(part).length <= attachmentLimits.size)
    .slice(0, attachmentLimits.parts)
  return textPart?.kind === 'text'
    ? [{ ...textPart, content: cutText(textPart.content) }, ...keptAttachments]
    : keptAttachments
}

/** Cuts a text to the maximum length, never within a surrogate pair. */
function cutText(text: string): string {
  return text.length <= maxTextChars ? text : `${text.slice(0, maxTextChars).replace(/[\ud800-\udbff]$/, '')} […]`
}

function readTime(value: unknown): number | undefined {
  const time = Date.parse(textOf(value) ?? '')
  return Number.isNaN(time) ? undefined : time
}

function refusePost(problem: string): Undeliverable {
  return new Undeliverable(`Cannot read post: ${problem}`)
}
