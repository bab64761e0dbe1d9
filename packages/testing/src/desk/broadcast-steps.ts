import type { Broadcast, Delivery, Desk, PlannedDelivery, Relation } from '@postern/core'
import { sketchPost } from './act-sketches.ts'
import { leaseMs, sketchIntake, toDeliveryPlan } from './under-test.ts'

export const toFollowers = [{ relation: 'follower', target: { note: 1 } }] as const

/** Peers come to follow `echo`, one after another. */
export async function follow(desk: Desk, ...peers: readonly string[]): Promise<void> {
  const effects = peers.map(peer => ({ kind: 'relate', relation: 'follower', peer, target: null }) as const)
  await desk.admit(sketchIntake(`follows of ${peers.join()}`, { disposition: 'keep', effects }), 'c')
}

export async function broadcast(desk: Desk, id = 'p1'): Promise<void> {
  await desk.act([sketchPost(id, `words of ${id}`, { broadcasts: toFollowers })], 'c')
}

export function leaseBroadcasts(desk: Desk, holder = 'worker'): Promise<readonly Broadcast[]> {
  return desk.leaseBroadcasts({ holder, limit: 9, leaseMs })
}

export async function leaseOnlyBroadcast(desk: Desk): Promise<Broadcast> {
  const [only, ...others] = await leaseBroadcasts(desk)
  if (!only || others.length > 0) throw new Error(`expected one due broadcast, found ${only ? 1 + others.length : 0}`)
  return only
}

export function leaseSpread(desk: Desk, limit = 99): Promise<readonly Delivery[]> {
  return desk.leaseDeliveries({ holder: 'worker', limit, leaseMs, rank: 'broadcast' })
}

/** The next peers a broadcast is meant for. */
async function nextPage(desk: Desk, { agent, via, relation, until }: Broadcast, after: number, limit: number) {
  const listed = await desk.listRelations({ agent, via, relation, after, limit })
  return listed.filter(({ place }) => place <= until)
}

function toPlans(page: readonly Relation[]): readonly PlannedDelivery[] {
  return page.map(({ peer }) => ({ ...toDeliveryPlan(peer), peer }))
}

/** Spreads one page of `limit` peers. @returns where the next begins */
export async function spreadPage(desk: Desk, held: Broadcast, after: number, limit: number): Promise<number> {
  const page = await nextPage(desk, held, after, limit)
  const place = page.at(-1)?.place ?? after
  await desk.spread(held, toPlans(page), { after: place, isDone: page.length < limit })
  return place
}
