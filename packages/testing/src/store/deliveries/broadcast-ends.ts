// Tests how broadcasts end, in which rank they go out, and that they survive a crash.
import { LeaseLost } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { answerWith, sketchDeletion, sketchEdit, sketchPost, sketchReaction } from '../setup/action-sketches.ts'
import type { OpenStore } from '../setup/under-test.ts'
import {
  leaseDeliveries,
  leaseMs,
  leaseOnlyTurn,
  leaseTurns,
  sketchIntake,
  sketchResponse,
  toDeliveryPlan,
  withStore,
} from '../setup/under-test.ts'
import {
  addFollowers,
  broadcast,
  expandPage,
  leaseBroadcasts,
  leaseExpansion,
  leaseOnlyBroadcast,
  toFollowers,
} from './broadcast-steps.ts'

export function broadcastEndContract(openStore: OpenStore): void {
  describe('ends and ranks of broadcasts', () => {
    describeEndings(openStore)
    describeRanks(openStore)
    describeBroadcastDurability(openStore)
  })
}

function describeEndings(openStore: OpenStore): void {
  test(
    'a withdrawal ends a post’s running broadcast, and broadcasts the deletion instead',
    withStore(openStore, async ({ store }) => {
      await addFollowers(store, 'ada', 'bob', 'eve')
      await broadcast(store)
      const leasedBroadcast = await leaseOnlyBroadcast(store)
      const cursor = await expandPage(store, leasedBroadcast, leasedBroadcast.lastQueuedPeer, 1)
      await store.storeActions([sketchDeletion('p1', [], [{ relation: 'follower', target: { gone: 1 } }])], 'c')
      await expect(store.expand(leasedBroadcast, [], { after: cursor, isDone: true })).rejects.toThrow(LeaseLost)
      const undoing = await leaseOnlyBroadcast(store)
      expect(undoing).toMatchObject({ target: { gone: 1 }, lastQueuedPeer: 0, lastPeer: leasedBroadcast.lastPeer })
      await expandPage(store, undoing, 0, 9)
      const expand = await leaseExpansion(store)
      expect(expand.map(({ to, broadcast: common }) => [to, common])).toEqual([
        ['ada', { gone: 1 }],
        ['bob', { gone: 1 }],
        ['eve', { gone: 1 }],
      ])
      expect(await store.listDeliveries({ limit: 9, state: 'dead' })).toMatchObject([{ to: 'ada' }])
    }),
  )
  test(
    'the broadcast of an edit starts after that of its post, with any workers',
    withStore(openStore, async ({ store }) => {
      await addFollowers(store, 'ada')
      await broadcast(store)
      const storedPost = await store.findResponse('p1')
      if (!storedPost) throw new Error('there is a post')
      const edit = sketchEdit(storedPost.response, [])
      await store.storeActions(
        [{ ...edit, deliveryPlan: { deliveries: [], broadcasts: [{ relation: 'follower', target: 'edit' }] } }],
        'c',
      )
      const leasedBroadcast = await leaseOnlyBroadcast(store)
      expect(leasedBroadcast.target).toEqual({ note: 1 })
      expect(await leaseBroadcasts(store, 'another worker')).toEqual([])
      await expandPage(store, leasedBroadcast, leasedBroadcast.lastQueuedPeer, 9)
      const [next] = await leaseBroadcasts(store, 'another worker')
      if (next) await expandPage(store, next, next.lastQueuedPeer, 9)
      const [first, ...otherDeliveries] = await leaseExpansion(store)
      expect([first?.broadcast, otherDeliveries]).toEqual([{ note: 1 }, []])
      if (first) await store.settle(first, { state: 'sent' })
      expect(await leaseExpansion(store)).toMatchObject([{ to: 'ada', broadcast: 'edit' }])
    }),
  )
  test(
    'the store broadcasts no post that its author has withdrawn',
    withStore(openStore, async ({ store }) => {
      await addFollowers(store, 'ada', 'bob')
      const authorship = { author: 'carl', object: 'note' }
      const { message } = await store.admit(sketchIntake('m1', { authorship }), 'c')
      await leaseTurns(store)
      await store.storeActions([sketchReaction(message, 'carl', toFollowers)], 'c')
      const leasedBroadcast = await leaseOnlyBroadcast(store)
      const cursor = await expandPage(store, leasedBroadcast, leasedBroadcast.lastQueuedPeer, 1)
      await store.withdraw('a2a', [{ kind: 'forget', ...authorship }])
      await expect(
        store.expand(leasedBroadcast, [toDeliveryPlan('bob')], { after: cursor, isDone: true }),
      ).rejects.toThrow(LeaseLost)
      expect([...(await leaseExpansion(store)), ...(await leaseDeliveries(store))]).toEqual([])
      expect(await store.findNextDueAt()).toBeUndefined()
    }),
  )
}

function describeRanks(openStore: OpenStore): void {
  test(
    'workers lease answers and broadcast deliveries separately',
    withStore(openStore, async ({ store }) => {
      await addFollowers(store, 'ada', 'bob')
      await broadcast(store)
      const leasedBroadcast = await leaseOnlyBroadcast(store)
      await expandPage(store, leasedBroadcast, leasedBroadcast.lastQueuedPeer, 9)
      await answerWith(store, 'm1', 'hello', { recipients: ['x'] })
      expect((await leaseDeliveries(store)).map(({ to }) => to)).toEqual(['x'])
      expect((await leaseExpansion(store, 1)).map(({ to }) => to)).toEqual(['ada'])
      expect((await leaseExpansion(store)).map(({ to }) => to)).toEqual(['bob'])
    }),
  )
  test(
    'workers also skip a busy host in broadcast deliveries',
    withStore(openStore, async ({ store }) => {
      await addFollowers(store, 'https://one.test/inbox', 'https://two.test/inbox')
      await broadcast(store)
      const leasedBroadcast = await leaseOnlyBroadcast(store)
      await expandPage(store, leasedBroadcast, leasedBroadcast.lastQueuedPeer, 9)
      const request = {
        holder: 'worker',
        limit: 9,
        leaseMs,
        shares: { maxPerGroup: 1, usedByGroup: new Map([['one.test', 1]]) },
        rank: 'broadcast',
      } as const
      expect((await store.leaseDeliveries(request)).map(({ to }) => to)).toEqual(['https://two.test/inbox'])
    }),
  )
}

function describeBroadcastDurability(openStore: OpenStore): void {
  test(
    'a broadcast continues after a crash, with all actions of the agent',
    withStore(openStore, async ({ store: first, advance, reopen }) => {
      if (!reopen) return
      await addFollowers(first, 'ada', 'bob')
      await broadcast(first)
      await first.storeActions([sketchPost('gone', 'regrets', { isListed: true }), sketchDeletion('gone')], 'c')
      const leasedBroadcast = await leaseOnlyBroadcast(first)
      const cursor = await expandPage(first, leasedBroadcast, leasedBroadcast.lastQueuedPeer, 1)
      await first.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(first)
      await first.storeInterimAnswer(turn, { response: sketchResponse(turn, 'looking', 'working'), deliveries: [] })
      const store = await reopen()
      advance(60_000)
      try {
        const secondLease = await leaseOnlyBroadcast(store)
        expect(secondLease).toMatchObject({
          id: leasedBroadcast.id,
          lastQueuedPeer: cursor,
          lastPeer: leasedBroadcast.lastPeer,
          target: { note: 1 },
        })
        await expandPage(store, secondLease, secondLease.lastQueuedPeer, 9)
        expect((await leaseExpansion(store)).map(({ to }) => to)).toEqual(['ada', 'bob'])
        expect(await store.findResponse('gone')).toMatchObject({
          response: { parts: [] },
          retractedAt: expect.any(String),
        })
        expect(await store.countListed({ agent: 'echo', via: 'a2a' })).toBe(0)
        expect(await store.findAnswer(turn.message)).toMatchObject({ response: { parts: [{ content: 'looking' }] } })
      } finally {
        await store.close()
      }
    }),
  )
}
