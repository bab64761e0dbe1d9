import type { Platform, RelationStore, WithdrawalStore } from '@postern/core'
import { Rejection, Unavailable, Undeliverable } from '@postern/core'
import { createExpiringMap, createRateLimit, createSingleFlight } from '@postern/limits'
import { parseIri } from '../format/document.ts'
import type { DeliveryTarget, FollowerTarget } from '../format/post-data.ts'
import type { FetchDocument } from './look-ups.ts'

const pageSize = 200
/** The time between two checks of all followers of an agent. An inbox that fails within it is checked at once. */
const restMs = 5_000
/** A shared inbox is looked for so often, and of so many it is known. */
const lookedMs = 3_600_000
const maxInboxes = 10_000

interface UnreachableInboxDeps {
  readonly store: Pick<RelationStore, 'listRelations'>
  readonly checkDeleted: CheckDeleted
  readonly platform: Pick<Platform, 'now' | 'sleep'>
}

/** Handles an inbox that does not exist (any more): checks its actor, or all followers who share it. Never throws. */
export function createUnreachableInboxes({
  store,
  checkDeleted,
  platform,
}: UnreachableInboxDeps): (agent: string, target: DeliveryTarget) => void {
  const looked = createExpiringMap<true>(maxInboxes, () => platform.now())
  /** By agent; strangers make up as many inboxes as they like, and each look passes every follower. */
  const lost = new Map<string, Set<string>>()

  async function checkFollowers(agent: string, inboxes: ReadonlySet<string>): Promise<void> {
    for (let after: number | undefined = 0; after !== undefined; ) {
      const page = await store.listRelations({
        via: 'activitypub',
        agent,
        relation: 'follower',
        limit: pageSize,
        after,
      })
      const sharing = page.filter(({ target }) => inboxes.has((target as unknown as FollowerTarget).sharedInbox ?? ''))
      for (const { peer } of sharing) await checkDeleted(peer)
      after = page.length === pageSize ? page.at(-1)?.place : undefined
      // Others get their turn between two pages.
      await platform.sleep(0)
    }
  }

  async function checkLost(agent: string, waiting: Set<string>): Promise<void> {
    while (waiting.size > 0) {
      const inboxes = new Set(waiting)
      waiting.clear()
      await checkFollowers(agent, inboxes).catch(() => undefined)
      await platform.sleep(restMs)
    }
    lost.delete(agent)
  }

  function lookFor(agent: string, inbox: string): void {
    const name = `${agent} ${inbox}`
    if (looked.get(name)) return
    looked.set(name, true, lookedMs)
    const waiting = lost.get(agent)
    if (waiting) {
      waiting.add(inbox)
      return
    }
    const begun = new Set([inbox])
    lost.set(agent, begun)
    void checkLost(agent, begun)
  }

  return (agent, target) => {
    if (!('inbox' in target)) return
    const { inbox, peer } = target
    if (peer) void checkDeleted(peer)
    else lookFor(agent, inbox)
  }
}

/**
 * To be called when the inbox of an actor answers 404 or 410. It fetches the actor's own document: after a 410
 * everything of the actor is forgotten. After two 404s a day apart it gets nothing unasked any more. Its words stay,
 * because a server in trouble answers 404 for all its actors. Never throws.
 */
type CheckDeleted = (peer: string) => Promise<void>

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
export function createDeletedCheck({ fetchDocument, store, platform }: DeletedActorDeps): CheckDeleted {
  const now = () => platform.now()
  const asked = createExpiringMap<true>(maxPeers, now)
  /** Since when there is no such actor; ms. */
  const missing = createExpiringMap<number>(maxPeers, now)
  const perHost = createRateLimit({ perMinute: asksPerHost, maxKeys: maxPeers }, now)
  const share = createSingleFlight<void>()

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

  return peer => share(peer, () => ask(peer).catch(error => logFailure(platform.log, peer, error)))
}

/** When the answer cannot be had now, the next failed delivery asks again. */
function logFailure(log: Platform['log'], peer: string, err: unknown): void {
  const isExpected = err instanceof Unavailable || err instanceof Undeliverable || err instanceof Rejection
  log[isExpected ? 'debug' : 'error']({ peer, err }, 'cannot find out whether a peer is gone')
}
