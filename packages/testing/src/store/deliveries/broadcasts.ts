// Tests that a store turns a broadcast into one delivery for each follower.
import { LeaseLost } from '@postern/message'
import { describe, expect, test } from 'vitest'
import type { OpenStore } from '../setup/under-test.ts'
import { leaseMs, sketchIntake, toDeliveryPlan, withStore } from '../setup/under-test.ts'
import {
  addFollowers,
  broadcast,
  expandPage,
  leaseBroadcasts,
  leaseExpansion,
  leaseOnlyBroadcast,
} from './broadcast-steps.ts'

export function broadcastContract(openStore: OpenStore): void {
  describe('broadcasts', () => {
    describeExpansion(openStore)
    describeBroadcastFencing(openStore)
  })
}

function describeExpansion(openStore: OpenStore): void {
  test(
    'a worker leases a complete broadcast, and turns it into deliveries page by page',
    withStore(openStore, async ({ store, now }) => {
      await addFollowers(store, 'ada', 'bob', 'eve')
      await broadcast(store)
      const leasedBroadcast = await leaseOnlyBroadcast(store)
      expect(leasedBroadcast).toMatchObject({
        agent: 'echo',
        via: 'a2a',
        relation: 'follower',
        target: { note: 1 },
        lastQueuedPeer: 0,
      })
      const cursor = await expandPage(store, leasedBroadcast, leasedBroadcast.lastQueuedPeer, 2)
      expect((await leaseExpansion(store)).map(({ to }) => to)).toEqual(['ada', 'bob'])
      await expandPage(store, leasedBroadcast, cursor, 2)
      const [lastDelivery] = await leaseExpansion(store)
      expect(lastDelivery).toMatchObject({
        to: 'eve',
        queuedAt: now(),
        attempt: 1,
        broadcast: { note: 1 },
        rendering: { of: 'p1' },
        response: { id: 'p1', parts: [{ content: 'words of p1' }] },
      })
      expect((await store.findMessage('post:p1'))?.deliveries.map(({ to }) => to)).toEqual(['ada', 'bob', 'eve'])
      expect((await store.count()).deliveries.queued).toBe(3)
    }),
  )
  test(
    'a broadcast does not reach a later follower, and ends at once without recipients',
    withStore(openStore, async ({ store }) => {
      await broadcast(store, 'unheard')
      await addFollowers(store, 'ada')
      await broadcast(store, 'heard')
      await addFollowers(store, 'bob')
      const [unstreamedBroadcast, streamedBroadcast] = await leaseBroadcasts(store)
      if (!unstreamedBroadcast || !streamedBroadcast) throw new Error('there are two broadcasts')
      await expandPage(store, unstreamedBroadcast, unstreamedBroadcast.lastQueuedPeer, 9)
      await expandPage(store, streamedBroadcast, streamedBroadcast.lastQueuedPeer, 9)
      expect((await leaseExpansion(store)).map(({ to, response }) => `${response?.id} → ${to}`)).toEqual([
        'heard → ada',
      ])
    }),
  )
  test(
    'one destination gets one delivery per broadcast, in any number of pages',
    withStore(openStore, async ({ store }) => {
      await addFollowers(store, 'ada', 'bob')
      await broadcast(store)
      const leasedBroadcast = await leaseOnlyBroadcast(store)
      const sharedInbox = toDeliveryPlan('shared inbox')
      await store.expand(leasedBroadcast, [sharedInbox, sharedInbox], { after: 1, isDone: false })
      await store.expand(leasedBroadcast, [sharedInbox, toDeliveryPlan('own inbox')], { after: 2, isDone: true })
      expect((await leaseExpansion(store)).map(({ to }) => to)).toEqual(['shared inbox', 'own inbox'])
      expect((await store.count()).deliveries.queued, 'none waits behind them').toBe(2)
      await broadcast(store, 'p2')
      await store.expand(await leaseOnlyBroadcast(store), [sharedInbox], { after: 2, isDone: true })
      expect((await leaseExpansion(store)).map(({ to, response }) => `${response?.id} → ${to}`)).toEqual([
        'p2 → shared inbox',
      ])
    }),
  )
  test(
    'a delivery to one peer does not replace those to its inbox or to other peers',
    withStore(openStore, async ({ store }) => {
      await broadcast(store)
      const [sharedInbox, ownInbox] = [toDeliveryPlan('shared inbox'), toDeliveryPlan('own inbox')]
      const forOne = [{ ...sharedInbox, peer: 'eve' }, ...['eve', 'ada'].map(peer => ({ ...ownInbox, peer }))]
      const leasedBroadcast = await leaseOnlyBroadcast(store)
      await store.expand(leasedBroadcast, forOne, { after: 1, isDone: false })
      await store.expand(leasedBroadcast, [sharedInbox, ...forOne], { after: 2, isDone: true })
      await store.withdraw('a2a', [{ kind: 'forget_peer', peer: 'eve' }])
      expect((await leaseExpansion(store)).map(({ to }) => to).toSorted()).toEqual(['own inbox', 'shared inbox'])
    }),
  )
  test(
    'a page with a delivery to a whole inbox adds none for a single peer there',
    withStore(openStore, async ({ store }) => {
      await broadcast(store)
      const sharedInbox = toDeliveryPlan('shared inbox')
      const leasedBroadcast = await leaseOnlyBroadcast(store)
      await store.expand(leasedBroadcast, [{ ...sharedInbox, peer: 'eve' }, sharedInbox], { after: 1, isDone: true })
      expect((await leaseExpansion(store)).map(({ to }) => to)).toEqual(['shared inbox'])
      expect((await store.count()).deliveries.queued, 'none waits behind it').toBe(1)
    }),
  )
  test(
    'a peer that has blocked the agent gets no broadcast',
    withStore(openStore, async ({ store }) => {
      await addFollowers(store, 'ada', 'bob')
      const block = { kind: 'relate', relation: 'blocked_by', peer: 'ada', target: null } as const
      await store.admit(sketchIntake('block', { disposition: 'keep', effects: [block] }), 'c')
      await broadcast(store)
      const leasedBroadcast = await leaseOnlyBroadcast(store)
      await expandPage(store, leasedBroadcast, leasedBroadcast.lastQueuedPeer, 9)
      expect((await leaseExpansion(store)).map(({ to }) => to)).toEqual(['bob'])
    }),
  )
}

function describeBroadcastFencing(openStore: OpenStore): void {
  test(
    'one worker leases a broadcast at a time, and the next one continues it',
    withStore(openStore, async ({ store, advance }) => {
      await addFollowers(store, 'ada', 'bob', 'eve')
      await broadcast(store)
      const firstBroadcast = await leaseOnlyBroadcast(store)
      const cursor = await expandPage(store, firstBroadcast, firstBroadcast.lastQueuedPeer, 1)
      expect(await leaseBroadcasts(store, 'another')).toEqual([])
      advance(60_000)
      const [second] = await leaseBroadcasts(store, 'another')
      expect(second).toMatchObject({ id: firstBroadcast.id, lastQueuedPeer: cursor, lastPeer: firstBroadcast.lastPeer })
      if (!second) return
      const ahead = await expandPage(store, second, second.lastQueuedPeer, 1)
      // The first worker returns with the page that the second one has done already, and with the next page.
      await expandPage(store, firstBroadcast, cursor, 1)
      await expandPage(store, firstBroadcast, ahead, 2)
      expect((await leaseExpansion(store)).map(({ to }) => to)).toEqual(['ada', 'bob', 'eve'])
      expect((await store.count()).deliveries.queued).toBe(3)
    }),
  )
  test(
    'a broadcast never goes back, and its end counts for all workers',
    withStore(openStore, async ({ store, advance }) => {
      await addFollowers(store, 'ada', 'bob')
      await broadcast(store)
      const leasedBroadcast = await leaseOnlyBroadcast(store)
      const latePlan = toDeliveryPlan('late')
      await store.expand(leasedBroadcast, [], { after: leasedBroadcast.lastPeer, isDone: false })
      await expect(
        store.expand(leasedBroadcast, [latePlan], { after: leasedBroadcast.lastPeer - 1, isDone: true }),
      ).rejects.toThrow(LeaseLost)
      await store.expand(leasedBroadcast, [], { after: leasedBroadcast.lastPeer, isDone: true })
      await expect(
        store.expand(leasedBroadcast, [latePlan], { after: leasedBroadcast.lastPeer, isDone: true }),
      ).rejects.toThrow(LeaseLost)
      advance(10 * leaseMs)
      expect(await leaseBroadcasts(store)).toEqual([])
      expect(await leaseExpansion(store)).toEqual([])
      expect(await store.findNextDueAt()).toBeUndefined()
    }),
  )
  test(
    'findNextDueAt() includes broadcasts and their deliveries, and waiting workers get a notification',
    withStore(openStore, async ({ store, now, advance }) => {
      await addFollowers(store, 'ada')
      let noticeCount = 0
      store.listen('work', () => {
        noticeCount += 1
      })
      await broadcast(store)
      expect(noticeCount).toBe(1)
      expect(await store.findNextDueAt()).toBe(now())
      advance(10)
      const leasedBroadcast = await leaseOnlyBroadcast(store)
      expect(await store.findNextDueAt()).toBe(now() + leaseMs)
      await expandPage(store, leasedBroadcast, leasedBroadcast.lastQueuedPeer, 9)
      expect(noticeCount).toBe(2)
      expect(await store.findNextDueAt()).toBe(now())
    }),
  )
}
