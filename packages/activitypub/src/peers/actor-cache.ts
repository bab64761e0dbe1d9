import { Unavailable, Undeliverable } from '@postern/core'
import type { RateLimit } from '@postern/limits'
import { createRateLimit } from '@postern/limits'
import { createExpiringMap } from '../cache/expiring-map.ts'
import { createSharedWork } from '../cache/shared-work.ts'
import type { Iri } from '../format/iri.ts'
import type { FetchDocument } from './document-fetch.ts'
import type { RemoteActor } from './remote-actor.ts'
import { parseActor } from './remote-actor.ts'

/** The result of a look-up. It remembers errors too, so that a bad name costs one fetch in a while. */
type Found = { readonly actor: RemoteActor } | Refused
type Refused =
  | { readonly actor?: undefined; readonly state: 'gone' | 'missing' }
  | { readonly actor?: undefined; readonly error: Unavailable | Undeliverable }

export interface RemoteActors {
  /**
   * The actor with this IRI, from memory or from its origin; undefined when there is none, any more or at all.
   * @throws Unavailable, Undeliverable, Rejection `rate_limited`
   */
  find(iri: Iri): Promise<RemoteActor | undefined>
  /** Whether `find` answers from memory. */
  knows(iri: Iri): boolean
  /** Fetches again, once in a while: undefined when it is too early, or the actor is gone. @throws like `find` */
  refresh(iri: Iri): Promise<RemoteActor | undefined>
  /** Whether its origin recently answered that it is gone for good (410). */
  isGone(iri: Iri): boolean
}

interface ActorCacheDeps {
  readonly fetchDocument: FetchDocument
  now(): number
}

const maxActors = 5_000
const keepMs = { found: 86_400_000, refused: 5 * 60_000, unavailable: 30_000, refetched: 60_000 } as const
/** Look-ups a minute that strangers can make us do. Each costs a signature: only so many in all may come at once. */
const ceilings = { perHost: 600, inAll: 6_000, atOnce: 300 } as const

export function createActorCache({ fetchDocument, now }: ActorCacheDeps): RemoteActors {
  const known = createExpiringMap<RemoteActor>(maxActors, now)
  // A cache of its own, so that unknown names cannot crowd out the actors that write to us.
  const refused = createExpiringMap<Refused>(maxActors, now)
  const refetched = createExpiringMap<true>(maxActors, now)
  const share = createSharedWork<Found>()
  const perHost = createRateLimit({ perMinute: ceilings.perHost }, now)
  const inAll = createRateLimit({ perMinute: ceilings.inAll, burst: ceilings.atOnce }, now)

  /** A failed look does not push out what is known: a forged signature must not lock the honest actor out. */
  async function look(iri: Iri): Promise<Found> {
    takeFrom(perHost, inAll, iri.host)
    const found = await lookUp(iri, fetchDocument)
    if (found.actor) known.set(iri.href, found.actor, keepMs.found)
    else if (!('error' in found) || !known.get(iri.href)) refuse(iri.href, found)
    return found
  }

  function refuse(href: string, found: Refused): void {
    known.delete(href)
    refused.set(href, found, keepMs[kindOf(found)])
  }

  function recall(href: string): Found | undefined {
    const actor = known.get(href)
    return actor ? { actor } : refused.get(href)
  }

  return {
    async find(iri) {
      return openFound(recall(iri.href) ?? (await share(iri.href, () => look(iri))))
    },
    knows: iri => recall(iri.href) !== undefined,
    async refresh(iri) {
      if (refetched.get(iri.href)) return undefined
      refetched.set(iri.href, true, keepMs.refetched)
      return openFound(await share(iri.href, () => look(iri)))
    },
    isGone(iri) {
      const found = recall(iri.href)
      return found !== undefined && 'state' in found && found.state === 'gone'
    },
  }
}

function takeFrom(perHost: RateLimit, inAll: RateLimit, host: string): void {
  perHost.take(host)
  inAll.take('')
}

async function lookUp(iri: Iri, fetchDocument: FetchDocument): Promise<Found> {
  try {
    const fetched = await fetchDocument(iri.href)
    return fetched.state === 'found' ? { actor: parseActor(fetched.document, iri) } : { state: fetched.state }
  } catch (error) {
    if (error instanceof Unavailable || error instanceof Undeliverable) return { error }
    throw error
  }
}

function kindOf(found: Refused): 'refused' | 'unavailable' {
  return 'error' in found && found.error instanceof Unavailable ? 'unavailable' : 'refused'
}

function openFound(found: Found): RemoteActor | undefined {
  if ('error' in found) throw found.error
  return found.actor
}
