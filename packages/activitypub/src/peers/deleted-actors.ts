import type { Platform, WithdrawalStore } from '@postern/core'
import { Rejection, Unavailable, Undeliverable } from '@postern/core'
import { createRateLimit } from '@postern/limits'
import { createExpiringMap } from '../cache/expiring-map.ts'
import { createSharedWork } from '../cache/shared-work.ts'
import { parseIri } from '../format/iri.ts'
import type { FetchDocument } from './document-fetch.ts'

export interface DeletedActors {
  /**
   * Call this when the inbox of an actor answers 404 or 410. It fetches the actor's own document: after a 410
   * everything of the actor is forgotten. After two 404s a day apart it gets nothing unasked any more. Its words stay,
   * because a server in trouble answers 404 for all its actors. Never throws.
   */
  check(peer: string): Promise<void>
}

interface DeletedActorDeps {
  readonly fetchDocument: FetchDocument
  readonly store: Pick<WithdrawalStore, 'withdraw'>
  readonly platform: Pick<Platform, 'now' | 'log'>
}

const maxPeers = 10_000
/** When a server loses all its actors at once, it gets this many requests a minute. */
const asksPerHost = 60
/** The answer holds for so long. */
const askedMs = 3_600_000
const dayMs = 24 * 3_600_000
const missingMs = 30 * dayMs

/** Forgets actors that are gone, as their own servers declare. Its memory is a hint: without it, it asks again. */
export function createDeletedActors({ fetchDocument, store, platform }: DeletedActorDeps): DeletedActors {
  const now = () => platform.now()
  const asked = createExpiringMap<true>(maxPeers, now)
  /** Since when there is no such actor; ms. */
  const missing = createExpiringMap<number>(maxPeers, now)
  const perHost = createRateLimit({ perMinute: asksPerHost, maxKeys: maxPeers }, now)
  const share = createSharedWork<void>()

  async function ask(peer: string): Promise<void> {
    if (asked.get(peer)) return
    perHost.take(parseIri(peer, 'the peer').host)
    asked.set(peer, true, askedMs)
    await ends[(await fetchDocument(peer)).state](peer)
  }

  const ends = {
    found: async (peer: string) => missing.delete(peer),
    async gone(peer: string) {
      await store.withdraw('activitypub', [{ kind: 'forget_peer', peer }])
      platform.log.info({ peer }, 'peer forgotten: its server says that it is gone')
    },
    async missing(peer: string) {
      const since = missing.get(peer) ?? now()
      missing.set(peer, since, missingMs)
      if (now() - since < dayMs) return
      await store.withdraw('activitypub', [{ kind: 'end_relations', peer }])
      platform.log.info({ peer }, 'relations ended: for a day there has been no such peer')
    },
  } as const

  return {
    check: peer => share(peer, () => ask(peer).catch(error => logFailure(platform.log, peer, error))),
  }
}

/** When the answer cannot be had now, the next failed delivery asks again. */
function logFailure(log: Platform['log'], peer: string, err: unknown): void {
  const isExpected = err instanceof Unavailable || err instanceof Undeliverable || err instanceof Rejection
  log[isExpected ? 'debug' : 'error']({ peer, err }, 'cannot find out whether a peer is gone')
}
