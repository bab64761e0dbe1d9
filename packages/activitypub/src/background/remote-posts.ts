import type { Part } from '@postern/core'
import { Rejection, Unavailable, Undeliverable } from '@postern/core'
import { createExpiringMap, createKeyedSemaphore, createSingleFlight } from '@postern/limits'
import type { Iri, JsonObject } from '../format/document.ts'
import {
  asObject,
  checkPost,
  idOf,
  idsOf,
  isOnOrigin,
  isOpen,
  isReadablePost,
  parseIri,
  readVisibility,
  textOf,
} from '../format/document.ts'
import { readNote } from '../html/note-reading.ts'
import type { IsBlocked } from '../peers/known-peers.ts'
import { isBlockedPart } from '../peers/known-peers.ts'
import type { LookUpDeps } from '../peers/look-ups.ts'
import { limitLookUps } from '../peers/look-ups.ts'

/** The post behind this IRI, from memory or from its origin; undefined when it cannot be had. Never throws for a peer. */
export type FindRemotePost = (iri: Iri) => Promise<RemotePost | undefined>

interface RemotePostDeps extends LookUpDeps {
  readonly isBlocked: IsBlocked
}

/**
 * The result of a look-up. It also remembers that there was none, so many replies to one thread cause one look-up in a
 * while.
 */
interface Found {
  readonly post: RemotePost | undefined
}

const maxPosts = 300
const maxHosts = 2_000
const keepMs = { found: 10 * 60_000, refused: 5 * 60_000, hostDown: 60_000, fault: 60_000 } as const
/** A host that made a turn wait this long makes no other turn wait, ms. */
const patienceMs = 3_000
/** Look-ups of one host: under way, and waiting. The turns that wait for them end by their own time. */
const ofHost = { width: 1, queue: 15 } as const
const unending = new AbortController().signal
const pleas: ReadonlySet<number> = new Set([429, 503])
/** Look-ups a minute that strangers can make us do. */
const ceilings = { perHost: 120, inAll: 1_200 } as const

export function createPostFinder({ fetchDocument, isBlocked, now }: RemotePostDeps): FindRemotePost {
  const known = createExpiringMap<Found>(maxPosts, now)
  const missing = createExpiringMap<Found>(maxHosts, now)
  const down = createExpiringMap<true>(maxHosts, now)
  const askedAt = new Map<string, number>()
  const share = createSingleFlight<Found>()
  const queues = createKeyedSemaphore(ofHost)
  const countLookUp = limitLookUps(ceilings, now)

  function fetchFrom(iri: Iri): Promise<unknown> {
    return queues.pass(iri.host, unending, async () => {
      // It may have fallen silent while others were waiting for it.
      if (down.get(iri.host)) throw new Unavailable('Cannot fetch post: its host did not answer lately')
      countLookUp(iri.host)
      askedAt.set(iri.host, now())
      try {
        const fetched = await fetchDocument(iri.href)
        return fetched.state === 'found' ? fetched.document : undefined
      } catch (error) {
        if (isHostDown(error)) down.set(iri.host, true, keepMs.hostDown)
        throw error
      } finally {
        askedAt.delete(iri.host)
      }
    })
  }

  /** A page's address leads to the post's own, which has to say the same of itself. */
  async function fetchPost(iri: Iri): Promise<RemotePost> {
    const document = await fetchFrom(iri)
    const canonical = findCanonicalIri(document, iri)
    return canonical ? parsePost(await fetchFrom(canonical), canonical, isBlocked) : parsePost(document, iri, isBlocked)
  }

  async function look(iri: Iri): Promise<Found> {
    try {
      const found = { post: await fetchPost(iri) }
      known.set(iri.href, found, keepMs.found)
      return found
    } catch (error) {
      const ms = keepMissing(error)
      if (ms > 0) missing.set(iri.href, { post: undefined }, ms)
      return { post: undefined }
    }
  }

  return async iri => {
    const found = known.get(iri.href) ?? missing.get(iri.href)
    if (found) return found.post
    const isStuck = now() - (askedAt.get(iri.host) ?? now()) >= patienceMs
    return isStuck || down.get(iri.host) ? undefined : (await share(iri.href, () => look(iri))).post
  }
}

/**
 * No answer, or a request to wait. The failure of one address proves nothing about the others: strangers choose the
 * address.
 */
function isHostDown(error: unknown): boolean {
  return error instanceof Unavailable && (error.status === undefined || pleas.has(error.status))
}

/** How long a failed look-up is remembered, ms. Not at all when our own ceiling prevented the request. */
function keepMissing(error: unknown): number {
  if (error instanceof Unavailable) return error.status === undefined ? 0 : keepMs.fault
  if (error instanceof Rejection && error.code === 'rate_limited') return 0
  if (error instanceof Undeliverable || error instanceof Rejection) return keepMs.refused
  throw error
}

/** A post of a peer, as its own server shows it to everyone. */
export interface RemotePost {
  readonly id: string
  readonly author: Iri
  readonly parts: readonly Part[]
  readonly inReplyTo: string | undefined
  /** The publication date that its server gives, ms. */
  readonly published: number | undefined
}

/** UTF-16 code units of one post's text; the rest of a longer one is cut off. */
const maxText = 16_384
/** Of the attachments: how many, and UTF-16 code units of each as JSON. */
const maxAttached = { parts: 16, size: 4_096 } as const

const nobodyHere = { isOwnMention: () => false, addresses: [] }

/**
 * Reads a post fetched from the origin of `iri`. It takes public posts only: what our server may read is not meant for
 * everyone who names it in a reply.
 * @throws Undeliverable it is not that post, no post, or not public
 * @throws Rejection `malformed`, `too_large`
 */
function parsePost(document: unknown, iri: Iri, isBlocked: IsBlocked): RemotePost {
  const json = asObject(document)
  if (!json || json.id !== iri.href) throw refusePost('the document is of another post')
  if (!isReadablePost(json)) throw refusePost('the document is no post')
  checkPost(json)
  const visibility = readVisibility(json, undefined)
  if (!visibility || !isOpen(visibility)) throw refusePost('it is not for everybody')
  return {
    id: iri.href,
    author: readAuthor(json, iri),
    parts: readParts(json, isBlocked),
    inReplyTo: idOf(json.inReplyTo),
    published: readTime(json.published),
  }
}

/** Another id that a document fetched from `iri` has on the same origin: a page's address leads to it. */
function findCanonicalIri(document: unknown, iri: Iri): Iri | undefined {
  const id = textOf(asObject(document)?.id)
  return id && id !== iri.href && isOnOrigin(id, iri.origin) ? parseIri(id, "the post's id") : undefined
}

/** Only an actor of its own origin can have written it (FEP-fe34). */
function readAuthor(json: JsonObject, { origin }: Iri): Iri {
  const author = idsOf(json.attributedTo).find(id => isOnOrigin(id, origin))
  if (!author) throw refusePost('it is attributed to nobody on its own host')
  return parseIri(author, "the post's author")
}

/** Text without what was hidden; quotes, links and files stay addresses, and those of blocked hosts are left out. */
function readParts(json: JsonObject, isBlocked: IsBlocked): readonly Part[] {
  const [spoken, ...attached] = readNote(json, nobodyHere).parts
  const kept = attached
    .filter(part => !isBlockedPart(part, isBlocked) && JSON.stringify(part).length <= maxAttached.size)
    .slice(0, maxAttached.parts)
  return spoken?.kind === 'text' ? [{ ...spoken, content: cutText(spoken.content) }, ...kept] : kept
}

/** Never within a surrogate pair. */
function cutText(text: string): string {
  return text.length <= maxText ? text : `${text.slice(0, maxText).replace(/[\ud800-\udbff]$/, '')} […]`
}

function readTime(value: unknown): number | undefined {
  const time = Date.parse(textOf(value) ?? '')
  return Number.isNaN(time) ? undefined : time
}

function refusePost(problem: string): Undeliverable {
  return new Undeliverable(`Cannot read post: ${problem}`)
}
