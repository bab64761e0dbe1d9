// Adds followers, leases broadcasts and expands them page by page, for the tests of broadcasts.
import type { Broadcast, Delivery, PlannedDelivery, Relation, Store } from '@postern/pipeline'
import { sketchPost } from '../setup/action-sketches.ts'
import { leaseMs, sketchIntake, toDeliveryPlan } from '../setup/under-test.ts'

export const toFollowers = [{ relation: 'follower', target: { note: 1 } }] as const

/** Adds followers of `echo`, one after another. */
export async function addFollowers(store: Store, ...peers: readonly string[]): Promise<void> {
  const effects = peers.map(peer => ({ kind: 'relate', relation: 'follower', peer, target: null }) as const)
  await store.admit(sketchIntake(`follows of ${peers.join()}`, { disposition: 'keep', effects }), 'c')
}

export async function broadcast(store: Store, id = 'p1'): Promise<void> {
  await store.storeActions([sketchPost(id, `words of ${id}`, { broadcasts: toFollowers })], 'c')
}

export function leaseBroadcasts(store: Store, holder = 'worker'): Promise<readonly Broadcast[]> {
  return store.leaseBroadcasts({ holder, limit: 9, leaseMs })
}

export async function leaseOnlyBroadcast(store: Store): Promise<Broadcast> {
  const [only, ...otherBroadcasts] = await leaseBroadcasts(store)
  if (!only || otherBroadcasts.length > 0)
    throw new Error(`expected one due broadcast, found ${only ? 1 + otherBroadcasts.length : 0}`)
  return only
}

export function leaseExpansion(store: Store, limit = 99): Promise<readonly Delivery[]> {
  return store.leaseDeliveries({ holder: 'worker', limit, leaseMs, rank: 'broadcast' })
}

/** Lists the next peers for a broadcast. */
async function listNextPeers(
  store: Store,
  { agent, via, relation, lastPeer }: Broadcast,
  after: number,
  limit: number,
) {
  const relations = await store.listRelations({ agent, via, relation, after, limit })
  return relations.filter(({ number }) => number <= lastPeer)
}

function toPlans(page: readonly Relation[]): readonly PlannedDelivery[] {
  return page.map(({ peer }) => ({ ...toDeliveryPlan(peer), peer }))
}

/** Expands one page of `limit` peers. @returns the position of the next page */
export async function expandPage(
  store: Store,
  leasedBroadcast: Broadcast,
  after: number,
  limit: number,
): Promise<number> {
  const page = await listNextPeers(store, leasedBroadcast, after, limit)
  const cursor = page.at(-1)?.number ?? after
  await store.expand(leasedBroadcast, toPlans(page), { after: cursor, isDone: page.length < limit })
  return cursor
}
