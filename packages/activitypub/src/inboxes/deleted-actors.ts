// Forgets actors whose own servers say that they are deleted, and ends the relations of missing ones.
import { createExpiringMap, createRateLimit, createSingleFlight } from '@postern/limits'
import type { System } from '@postern/message'
import { Rejection, Unavailable, Undeliverable } from '@postern/message'
import type { WithdrawalStore } from '@postern/pipeline'
import { parseIri } from '../format/iri.ts'
import type { FetchDocument } from '../peers/fetched-document.ts'

/**
 * A function that checks an actor whose inbox answers 404 or 410, by fetching the actor's own document. After a 410, everything of the actor is deleted. After
 * two 404s a day apart, its relations end, so it gets nothing unasked any more. Its messages stay, because a server in trouble answers 404 for
 * all its actors. It never throws.
 */
export type CheckDeleted = (peer: string) => Promise<void>

interface DeletedActorDeps {
  readonly fetchDocument: FetchDocument
  readonly store: Pick<WithdrawalStore, 'withdraw'>
  readonly system: Pick<System, 'now' | 'log'>
}

const maxPeers = 10_000
/** The most requests a minute to one server, which may lose all its actors at once. */
const checksPerHost = 60
/** The time during which an actor is not checked again, ms. */
const actorCheckedTtlMs = 3_600_000
const dayMs = 24 * 3_600_000
const missingTtlMs = 30 * dayMs

/**
 * Creates the check that forgets actors whose own servers say that they are deleted. Its cache only saves requests: after a cache miss, the check
 * asks again.
 */
export function createDeletedCheck({ fetchDocument, store, system }: DeletedActorDeps): CheckDeleted {
  const now = () => system.now()
  const checkedPeers = createExpiringMap<true>(maxPeers, now)
  /** The time of the first 404 for each missing actor, in ms since the epoch. */
  const missingSinceByPeer = createExpiringMap<number>(maxPeers, now)
  const hostLimit = createRateLimit({ perMinute: checksPerHost, maxKeys: maxPeers }, now)
  const singleFlight = createSingleFlight<void>()

  async function checkActor(peer: string): Promise<void> {
    if (checkedPeers.get(peer)) return
    hostLimit.consume(parseIri(peer, 'the peer').host)
    checkedPeers.set(peer, true, actorCheckedTtlMs)
    await handlersByState[(await fetchDocument(peer)).state](peer)
  }

  const handlersByState = {
    found: async (peer: string) => missingSinceByPeer.delete(peer),
    async gone(peer: string) {
      await store.withdraw('activitypub', [{ kind: 'forget_peer', peer }])
      system.log.info({ peer }, 'peer forgotten: its server says that it is gone')
    },
    async missing(peer: string) {
      const missingSince = missingSinceByPeer.get(peer) ?? now()
      missingSinceByPeer.set(peer, missingSince, missingTtlMs)
      if (now() - missingSince < dayMs) return
      await store.withdraw('activitypub', [{ kind: 'end_relations', peer }])
      system.log.info({ peer }, 'relations ended: for a day there has been no such peer')
    },
  } as const

  return peer => singleFlight(peer, () => checkActor(peer).catch(error => logFailure(system.log, peer, error)))
}

/** Logs a check that failed. The next failed delivery repeats it. */
function logFailure(log: System['log'], peer: string, err: unknown): void {
  const isExpected = err instanceof Unavailable || err instanceof Undeliverable || err instanceof Rejection
  log[isExpected ? 'debug' : 'error']({ peer, err }, 'cannot find out whether a peer is gone')
}
