import { Rejection, Unavailable, Undeliverable } from '@postern/core'
import { createRateLimit } from '@postern/limits'
import { createExpiringMap } from '../cache/expiring-map.ts'
import { createSharedWork } from '../cache/shared-work.ts'
import type { Iri } from '../format/iri.ts'
import type { IsBlocked } from '../peers/blocklist.ts'
import type { FetchDocument } from '../peers/document-fetch.ts'
import { createHostQueues } from './host-queues.ts'
import type { RemotePost } from './remote-post.ts'
import { findCanonicalIri, parsePost } from './remote-post.ts'

export interface RemotePosts {
  /** The post behind this IRI, from memory or from its origin; undefined when it cannot be had. Never throws for a peer. */
  find(iri: Iri): Promise<RemotePost | undefined>
}

interface RemotePostDeps {
  readonly fetchDocument: FetchDocument
  readonly isBlocked: IsBlocked
  now(): number
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
/** Look-ups that wait for one host, with the one under way. */
const maxWaiting = 16
const pleas: ReadonlySet<number> = new Set([429, 503])
/** Look-ups a minute that strangers can make us do. */
const ceilings = { perHost: 120, inAll: 1_200 } as const

export function createRemotePosts({ fetchDocument, isBlocked, now }: RemotePostDeps): RemotePosts {
  const known = createExpiringMap<Found>(maxPosts, now)
  const missing = createExpiringMap<Found>(maxHosts, now)
  const down = createExpiringMap<true>(maxHosts, now)
  const askedAt = new Map<string, number>()
  const share = createSharedWork<Found>()
  const runInHostQueue = createHostQueues(maxWaiting)
  const perHost = createRateLimit({ perMinute: ceilings.perHost }, now)
  const inAll = createRateLimit({ perMinute: ceilings.inAll }, now)

  function fetchFrom(iri: Iri): Promise<unknown> {
    return runInHostQueue(iri.host, async () => {
      // It may have fallen silent while others were waiting for it.
      if (down.get(iri.host)) throw new Unavailable('Cannot fetch post: its host did not answer lately')
      perHost.take(iri.host)
      inAll.take('')
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

  return {
    async find(iri) {
      const found = known.get(iri.href) ?? missing.get(iri.href)
      if (found) return found.post
      const isStuck = now() - (askedAt.get(iri.host) ?? now()) >= patienceMs
      return isStuck || down.get(iri.host) ? undefined : (await share(iri.href, () => look(iri))).post
    },
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
