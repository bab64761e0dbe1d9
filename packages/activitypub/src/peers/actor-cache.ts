// Fetches the actors of peers and caches them.

import { isDeepStrictEqual } from 'node:util'
import type { RateLimit } from '@postern/limits'
import { createExpiringMap, createSingleFlight } from '@postern/limits'
import type { Iri } from '../format/iri.ts'
import { findHost } from '../format/iri.ts'
import type { RemoteActor } from './actor-document.ts'
import type { FoundActor, Refused } from './fetch-actor.ts'
import { fetchActor, isFullActor, kindOf } from './fetch-actor.ts'
import { limitFetches } from './fetch-limit.ts'
import type { FetchActorDeps, SignerDocuments } from './fetched-document.ts'

export type RemoteActors = ReturnType<typeof createActorCache>

interface ActorCacheDeps extends FetchActorDeps {
  readonly documents: SignerDocuments
}

const maxActors = 5_000

const keepMs = { result: 86_400_000, refused: 5 * 60_000, unavailable: 30_000, refetched: 60_000 } as const

/** The most fetches a minute that strangers can cause. Each may cost a signature, so the number that start at once is limited too. */
const ceilings = { perHost: 600, inAll: 6_000, atOnce: 20 } as const

export function createActorCache({ fetchDocument, documents, now }: ActorCacheDeps) {
  const { actorsByUrl, keep, recall, knowsKey } = createActorMemory(now)
  const refetched = createExpiringMap<true>(maxActors, now)
  const shownToAll = new WeakSet<RemoteActor>()
  const share = createSingleFlight<FoundActor>()
  const shareClaimed = createSingleFlight<FoundActor>()
  const countLookUp = limitFetches(ceilings, now)

  async function fetchAnew(iri: Iri): Promise<FoundActor> {
    countLookUp.take(iri.host)
    const earlier = actorsByUrl.get(iri.href)
    const result = await fetchActor(iri, fetchDocument)
    if (earlier && shownToAll.has(earlier)) compare(earlier, result)
    return keep(iri.href, result)
  }

  async function fetchClaimed(iri: Iri): Promise<FoundActor> {
    countLookUp.take(iri.host)
    const result = await fetchActor(iri, documents.fetch, actor => shownToAll.add(actor))
    return keep(iri.href, result)
  }

  /** Compares the public version of an actor with the one for signed requests. A host that shows both the same needs no second fetch. */
  function compare(provisional: RemoteActor, { actor }: FoundActor): void {
    if (actor) documents.learn(provisional.host, isDeepStrictEqual(actor, provisional))
    else actorsByUrl.delete(provisional.id)
  }

  /** Returns true if the host showed the actor without our signature, and may show a signed request more or nothing. */
  const isProvisional = (actor: RemoteActor) =>
    shownToAll.has(actor) && !(documents.isOpen(actor.host) && isFullActor(actor))

  return {
    /**
     * Returns the actor with this IRI, from the cache or from its origin, or undefined if there is none or it is deleted.
     * @throws Unavailable, Undeliverable, Rejection `rate_limited`
     */
    async find(iri: Iri): Promise<RemoteActor | undefined> {
      const result = recall(iri.href)
      const isEnough = result && !(result.actor && isProvisional(result.actor))
      return openFound(isEnough ? result : await share(iri.href, () => fetchAnew(iri)))
    },
    /** Finds the actor whom a signer claims to be. A provisional actor is enough to reject the claim. @throws like `find` */
    async findClaimed(iri: Iri): Promise<RemoteActor | undefined> {
      return openFound(recall(iri.href) ?? (await shareClaimed(iri.href, () => fetchClaimed(iri))))
    },
    isProvisional,
    /** Returns true if the cache has a result for this IRI, which may be a provisional actor or a failure. */
    knows: (iri: Iri) => recall(iri.href) !== undefined,
    checkKey: createKeyCheck(knowsKey, countLookUp),
    /** Fetches an actor again, unless its last fetch was recent or it is deleted. @throws like `find` */
    async refresh(iri: Iri): Promise<RemoteActor | undefined> {
      if (refetched.get(iri.href)) return undefined
      refetched.set(iri.href, true, keepMs.refetched)
      return openFound(await share(iri.href, () => fetchAnew(iri)))
    },
    /** Returns true if the origin of an actor recently answered that it is deleted (410). */
    isGone: (iri: Iri) => recall(iri.href)?.state === 'gone',
  }
}

/**
 * Creates a check that refuses an unknown key while no fetch is free. The body of its request is then not worth reading, because its signer cannot be
 * found. The check throws a Rejection `rate_limited`.
 */
function createKeyCheck(knowsKey: (keyId: string) => boolean, countLookUp: Pick<RateLimit, 'check'>) {
  return (keyId: string): void => {
    if (!knowsKey(keyId)) countLookUp.check(findHost(keyId) ?? '')
  }
}

function createActorMemory(now: () => number) {
  const actorsByUrl = createExpiringMap<RemoteActor>(maxActors, now)
  // Failures have a cache of their own, so that unknown names cannot evict the actors that write to us.
  const refused = createExpiringMap<Refused>(maxActors, now)
  const keyIds = createExpiringMap<true>(2 * maxActors, now)

  function refuse(href: string, refusal: Refused): void {
    actorsByUrl.delete(href)
    refused.set(href, refusal, keepMs[kindOf(refusal)])
  }

  return {
    actorsByUrl,
    /** Caches the result of a fetch. A failure does not replace a known actor, because a forged signature must not lock out the honest actor. */
    keep(href: string, result: FoundActor): FoundActor {
      if (result.actor) {
        actorsByUrl.set(href, result.actor, keepMs.result)
        for (const keyId of result.actor.keys.keys()) keyIds.set(keyId, true, keepMs.result)
      } else if (!('error' in result) || !actorsByUrl.get(href)) refuse(href, result)
      return result
    },
    recall(href: string): FoundActor | undefined {
      const actor = actorsByUrl.get(href)
      return actor ? { actor } : refused.get(href)
    },
    /** Returns true if a known actor has listed this key. */
    knowsKey: (keyId: string) => keyIds.get(keyId) === true,
  }
}

function openFound(result: FoundActor): RemoteActor | undefined {
  if ('error' in result) throw result.error
  return result.actor
}
