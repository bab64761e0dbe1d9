// Fetches the actors of peers and caches them.

import { isDeepStrictEqual } from 'node:util'
import type { RateLimit } from '@postern/limits'
import { createExpiringMap, createSingleFlight } from '@postern/limits'
import type { Iri } from '../format/iri.ts'
import { findHost } from '../format/iri.ts'
import type { RemoteActor } from './actor-document.ts'
import type { ActorFailure, ActorLookup } from './fetch-actor.ts'
import { classifyFailure, fetchActor, isFullActor } from './fetch-actor.ts'
import { createFetchLimit } from './fetch-limits.ts'
import type { FetchActorDeps, SignerDocuments } from './fetched-document.ts'

export type ActorCache = ReturnType<typeof createActorCache>

interface ActorCacheDeps extends FetchActorDeps {
  readonly documents: SignerDocuments
}

const maxActors = 5_000

const cacheMs = { result: 86_400_000, refused: 5 * 60_000, unavailable: 30_000, refetched: 60_000 } as const

/**
 * The maximum number of fetches per minute that strangers can cause. Each fetch may cost a signature, so the number of fetches in one burst is
 * limited too.
 */
const fetchesPerMinute = { perHost: 600, total: 6_000, burst: 300 } as const

export function createActorCache({ fetchDocument, documents, now }: ActorCacheDeps) {
  const { actorsByUrl, store: storeResult, findCached, knowsKey } = createActorMemory(now)
  const refetchedActors = createExpiringMap<true>(maxActors, now)
  const publicActors = new WeakSet<RemoteActor>()
  const singleFlight = createSingleFlight<ActorLookup>()
  const claimedSingleFlight = createSingleFlight<ActorLookup>()
  const fetchLimit = createFetchLimit(fetchesPerMinute, now)

  async function fetchAndCache(iri: Iri): Promise<ActorLookup> {
    fetchLimit.consume(iri.host)
    const cachedActor = actorsByUrl.get(iri.href)
    const result = await fetchActor(iri, fetchDocument)
    if (cachedActor && publicActors.has(cachedActor)) recordIfPublic(cachedActor, result)
    return storeResult(iri.href, result)
  }

  async function fetchClaimed(iri: Iri): Promise<ActorLookup> {
    fetchLimit.consume(iri.host)
    const result = await fetchActor(iri, documents.fetch, actor => publicActors.add(actor))
    return storeResult(iri.href, result)
  }

  /** Compares the public version of an actor with the version for signed requests. If a host shows the same version to both, it needs no second fetch. */
  function recordIfPublic(provisionalActor: RemoteActor, { actor }: ActorLookup): void {
    if (actor) documents.recordHostMode(provisionalActor.host, isDeepStrictEqual(actor, provisionalActor))
    else actorsByUrl.delete(provisionalActor.id)
  }

  /** Returns true if the host showed the actor without our signature, and may show more or nothing to a signed request. */
  const isProvisional = (actor: RemoteActor) =>
    publicActors.has(actor) && !(documents.showsEverything(actor.host) && isFullActor(actor))

  return {
    /**
     * Returns the actor with this IRI, from the cache or from its origin, or undefined if there is none or it is deleted.
     * @throws Unavailable, Undeliverable, Rejection `rate_limited`
     */
    async find(iri: Iri): Promise<RemoteActor | undefined> {
      const result = findCached(iri.href)
      const isSufficient = result && !(result.actor && isProvisional(result.actor))
      return readActor(isSufficient ? result : await singleFlight(iri.href, () => fetchAndCache(iri)))
    },
    /** Finds the actor whom a signer claims to be. A provisional actor is enough to reject the claim. @throws like `find` */
    async findClaimed(iri: Iri): Promise<RemoteActor | undefined> {
      return readActor(findCached(iri.href) ?? (await claimedSingleFlight(iri.href, () => fetchClaimed(iri))))
    },
    isProvisional,
    /** Returns true if the cache has a result for this IRI, which may be a provisional actor or a failure. */
    hasCached: (iri: Iri) => findCached(iri.href) !== undefined,
    checkKey: createKeyCheck(knowsKey, fetchLimit),
    /** Fetches an actor again, unless its last fetch was recent or it is deleted. @throws like `find` */
    async refresh(iri: Iri): Promise<RemoteActor | undefined> {
      if (refetchedActors.get(iri.href)) return undefined
      refetchedActors.set(iri.href, true, cacheMs.refetched)
      return readActor(await singleFlight(iri.href, () => fetchAndCache(iri)))
    },
    /** Returns true if the origin of an actor recently answered that it is deleted (410). */
    isGone: (iri: Iri) => findCached(iri.href)?.state === 'gone',
  }
}

/**
 * Creates a check that refuses unknown keys while the fetch limit is exhausted. Without a fetch the signer cannot be found, so reading the body would
 * be wasted. The check throws a Rejection `rate_limited`.
 */
function createKeyCheck(knowsKey: (keyId: string) => boolean, fetchLimit: Pick<RateLimit, 'check'>) {
  return (keyId: string): void => {
    if (!knowsKey(keyId)) fetchLimit.check(findHost(keyId) ?? '')
  }
}

function createActorMemory(now: () => number) {
  const actorsByUrl = createExpiringMap<RemoteActor>(maxActors, now)
  // Failures have a cache of their own, so that unknown names cannot evict the actors that write to us.
  const failures = createExpiringMap<ActorFailure>(maxActors, now)
  const keyIds = createExpiringMap<true>(2 * maxActors, now)

  function storeFailure(href: string, failure: ActorFailure): void {
    actorsByUrl.delete(href)
    failures.set(href, failure, cacheMs[classifyFailure(failure)])
  }

  return {
    actorsByUrl,
    /** Caches the result of a fetch. A failure does not replace a known actor, because a forged signature must not lock out the honest actor. */
    store(href: string, result: ActorLookup): ActorLookup {
      if (result.actor) {
        actorsByUrl.set(href, result.actor, cacheMs.result)
        for (const keyId of result.actor.keys.keys()) keyIds.set(keyId, true, cacheMs.result)
      } else if (!('error' in result) || !actorsByUrl.get(href)) storeFailure(href, result)
      return result
    },
    findCached(href: string): ActorLookup | undefined {
      const actor = actorsByUrl.get(href)
      return actor ? { actor } : failures.get(href)
    },
    /** Returns true if a known actor has listed this key. */
    knowsKey: (keyId: string) => keyIds.get(keyId) === true,
  }
}

function readActor(result: ActorLookup): RemoteActor | undefined {
  if ('error' in result) throw result.error
  return result.actor
}
