import { LeaseLost } from '@postern/core'
import { describe, expect, test } from 'vitest'
import { answerWith, sketchDeletion, sketchEdit, sketchPost, sketchReaction } from './act-sketches.ts'
import {
  broadcast,
  follow,
  leaseBroadcasts,
  leaseOnlyBroadcast,
  leaseSpread,
  spreadPage,
  toFollowers,
} from './broadcast-steps.ts'
import type { OpenDesk } from './under-test.ts'
import {
  leaseDeliveries,
  leaseMs,
  leaseOnlyTurn,
  leaseTurns,
  sketchIntake,
  sketchResponse,
  toDeliveryPlan,
  withDesk,
} from './under-test.ts'

export function broadcastContract(open: OpenDesk): void {
  describe('broadcasts', () => {
    describeSpreading(open)
    describeBroadcastFencing(open)
    describeEndings(open)
    describeRanks(open)
    describeBroadcastDurability(open)
  })
}

function describeSpreading(open: OpenDesk): void {
  test(
    'a broadcast is leased with all that spreading it takes, and becomes deliveries page by page',
    withDesk(open, async ({ desk, now }) => {
      await follow(desk, 'ada', 'bob', 'eve')
      await broadcast(desk)
      const held = await leaseOnlyBroadcast(desk)
      expect(held).toMatchObject({ agent: 'echo', via: 'a2a', relation: 'follower', target: { note: 1 }, after: 0 })
      const after = await spreadPage(desk, held, held.after, 2)
      expect((await leaseSpread(desk)).map(({ to }) => to)).toEqual(['ada', 'bob'])
      await spreadPage(desk, held, after, 2)
      const [last] = await leaseSpread(desk)
      expect(last).toMatchObject({
        to: 'eve',
        queuedAt: now(),
        attempt: 1,
        broadcast: { note: 1 },
        rendering: { of: 'p1' },
        response: { id: 'p1', parts: [{ content: 'words of p1' }] },
      })
      expect((await desk.findMessage('post:p1'))?.deliveries.map(({ to }) => to)).toEqual(['ada', 'bob', 'eve'])
      expect((await desk.count()).deliveries.queued).toBe(3)
    }),
  )
  test(
    'who comes later is not meant; with nobody to tell it ends at once',
    withDesk(open, async ({ desk }) => {
      await broadcast(desk, 'unheard')
      await follow(desk, 'ada')
      await broadcast(desk, 'heard')
      await follow(desk, 'bob')
      const [unheard, heard] = await leaseBroadcasts(desk)
      if (!unheard || !heard) throw new Error('there are two broadcasts')
      await spreadPage(desk, unheard, unheard.after, 9)
      await spreadPage(desk, heard, heard.after, 9)
      expect((await leaseSpread(desk)).map(({ to, response }) => `${response?.id} → ${to}`)).toEqual(['heard → ada'])
    }),
  )
  test(
    'one place gets one delivery of a broadcast, however often it is spread to, and one of the next',
    withDesk(open, async ({ desk }) => {
      await follow(desk, 'ada', 'bob')
      await broadcast(desk)
      const held = await leaseOnlyBroadcast(desk)
      const shared = toDeliveryPlan('shared inbox')
      await desk.spread(held, [shared, shared], { after: 1, isDone: false })
      await desk.spread(held, [shared, toDeliveryPlan('own inbox')], { after: 2, isDone: true })
      expect((await leaseSpread(desk)).map(({ to }) => to)).toEqual(['shared inbox', 'own inbox'])
      expect((await desk.count()).deliveries.queued, 'none waits behind them').toBe(2)
      await broadcast(desk, 'p2')
      await desk.spread(await leaseOnlyBroadcast(desk), [shared], { after: 2, isDone: true })
      expect((await leaseSpread(desk)).map(({ to, response }) => `${response?.id} → ${to}`)).toEqual([
        'p2 → shared inbox',
      ])
    }),
  )
  test(
    'what goes to one peer alone does not stand for what goes to all at the same place, nor for another peer',
    withDesk(open, async ({ desk }) => {
      await broadcast(desk)
      const [shared, own] = [toDeliveryPlan('shared inbox'), toDeliveryPlan('own inbox')]
      const forOne = [{ ...shared, peer: 'eve' }, ...['eve', 'ada'].map(peer => ({ ...own, peer }))]
      const held = await leaseOnlyBroadcast(desk)
      await desk.spread(held, forOne, { after: 1, isDone: false })
      await desk.spread(held, [shared, ...forOne], { after: 2, isDone: true })
      await desk.withdraw('a2a', [{ kind: 'forget_peer', peer: 'eve' }])
      expect((await leaseSpread(desk)).map(({ to }) => to).toSorted()).toEqual(['own inbox', 'shared inbox'])
    }),
  )
  test(
    'nothing is spread to who has blocked the agent',
    withDesk(open, async ({ desk }) => {
      await follow(desk, 'ada', 'bob')
      const block = { kind: 'relate', relation: 'blocked_by', peer: 'ada', target: null } as const
      await desk.admit(sketchIntake('block', { disposition: 'keep', effects: [block] }), 'c')
      await broadcast(desk)
      const held = await leaseOnlyBroadcast(desk)
      await spreadPage(desk, held, held.after, 9)
      expect((await leaseSpread(desk)).map(({ to }) => to)).toEqual(['bob'])
    }),
  )
}

function describeBroadcastFencing(open: OpenDesk): void {
  test(
    'who holds a broadcast holds it alone; after him another goes on where he stopped',
    withDesk(open, async ({ desk, advance }) => {
      await follow(desk, 'ada', 'bob', 'eve')
      await broadcast(desk)
      const first = await leaseOnlyBroadcast(desk)
      const after = await spreadPage(desk, first, first.after, 1)
      expect(await leaseBroadcasts(desk, 'another')).toEqual([])
      advance(60_000)
      const [second] = await leaseBroadcasts(desk, 'another')
      expect(second).toMatchObject({ id: first.id, after, until: first.until })
      if (!second) return
      const ahead = await spreadPage(desk, second, second.after, 1)
      // The first one is back with the page that the second has done already, and the one after.
      await spreadPage(desk, first, after, 1)
      await spreadPage(desk, first, ahead, 2)
      expect((await leaseSpread(desk)).map(({ to }) => to)).toEqual(['ada', 'bob', 'eve'])
      expect((await desk.count()).deliveries.queued).toBe(3)
    }),
  )
  test(
    'a broadcast does not go back, and what has ended is over for everybody',
    withDesk(open, async ({ desk, advance }) => {
      await follow(desk, 'ada', 'bob')
      await broadcast(desk)
      const held = await leaseOnlyBroadcast(desk)
      const late = toDeliveryPlan('late')
      await desk.spread(held, [], { after: held.until, isDone: false })
      await expect(desk.spread(held, [late], { after: held.until - 1, isDone: true })).rejects.toThrow(LeaseLost)
      await desk.spread(held, [], { after: held.until, isDone: true })
      await expect(desk.spread(held, [late], { after: held.until, isDone: true })).rejects.toThrow(LeaseLost)
      advance(10 * leaseMs)
      expect(await leaseBroadcasts(desk)).toEqual([])
      expect(await leaseSpread(desk)).toEqual([])
      expect(await desk.nextDue()).toBeUndefined()
    }),
  )
  test(
    'nextDue() knows of broadcasts and of what they became; who waits for work is told',
    withDesk(open, async ({ desk, now, advance }) => {
      await follow(desk, 'ada')
      let told = 0
      desk.listen('work', () => {
        told += 1
      })
      await broadcast(desk)
      expect(told).toBe(1)
      expect(await desk.nextDue()).toBe(now())
      advance(10)
      const held = await leaseOnlyBroadcast(desk)
      expect(await desk.nextDue()).toBe(now() + leaseMs)
      await spreadPage(desk, held, held.after, 9)
      expect(told).toBe(2)
      expect(await desk.nextDue()).toBe(now())
    }),
  )
}

function describeEndings(open: OpenDesk): void {
  test(
    'taking back what is being spread ends it, and spreads the word of that instead',
    withDesk(open, async ({ desk }) => {
      await follow(desk, 'ada', 'bob', 'eve')
      await broadcast(desk)
      const held = await leaseOnlyBroadcast(desk)
      const after = await spreadPage(desk, held, held.after, 1)
      await desk.act([sketchDeletion('p1', [], [{ relation: 'follower', target: { gone: 1 } }])], 'c')
      await expect(desk.spread(held, [], { after, isDone: true })).rejects.toThrow(LeaseLost)
      const undoing = await leaseOnlyBroadcast(desk)
      expect(undoing).toMatchObject({ target: { gone: 1 }, after: 0, until: held.until })
      await spreadPage(desk, undoing, 0, 9)
      const spread = await leaseSpread(desk)
      expect(spread.map(({ to, broadcast: common }) => [to, common])).toEqual([
        ['ada', { gone: 1 }],
        ['bob', { gone: 1 }],
        ['eve', { gone: 1 }],
      ])
      expect(await desk.listDeliveries({ limit: 9, state: 'dead' })).toMatchObject([{ to: 'ada' }])
    }),
  )
  test(
    'an edit is spread beside what it changes, and comes behind it to each place',
    withDesk(open, async ({ desk }) => {
      await follow(desk, 'ada')
      await broadcast(desk)
      const post = await desk.findResponse('p1')
      if (!post) throw new Error('there is a post')
      const edit = sketchEdit(post.response, [])
      await desk.act(
        [{ ...edit, planned: { deliveries: [], broadcasts: [{ relation: 'follower', target: 'edit' }] } }],
        'c',
      )
      for (const each of await leaseBroadcasts(desk)) await spreadPage(desk, each, each.after, 9)
      const [first, ...others] = await leaseSpread(desk)
      expect([first?.broadcast, others]).toEqual([{ note: 1 }, []])
      if (first) await desk.settle(first, { state: 'sent' })
      expect(await leaseSpread(desk)).toMatchObject([{ to: 'ada', broadcast: 'edit' }])
    }),
  )
  test(
    'what its author takes back is passed on no further',
    withDesk(open, async ({ desk }) => {
      await follow(desk, 'ada', 'bob')
      const authorship = { author: 'carl', object: 'note' }
      const { message } = await desk.admit(sketchIntake('m1', { authorship }), 'c')
      await leaseTurns(desk)
      await desk.act([sketchReaction(message, 'carl', toFollowers)], 'c')
      const held = await leaseOnlyBroadcast(desk)
      const after = await spreadPage(desk, held, held.after, 1)
      await desk.withdraw('a2a', [{ kind: 'forget', ...authorship }])
      await expect(desk.spread(held, [toDeliveryPlan('bob')], { after, isDone: true })).rejects.toThrow(LeaseLost)
      expect([...(await leaseSpread(desk)), ...(await leaseDeliveries(desk))]).toEqual([])
      expect(await desk.nextDue()).toBeUndefined()
    }),
  )
}

function describeRanks(open: OpenDesk): void {
  test(
    'answers and what is spread to many are leased apart',
    withDesk(open, async ({ desk }) => {
      await follow(desk, 'ada', 'bob')
      await broadcast(desk)
      const held = await leaseOnlyBroadcast(desk)
      await spreadPage(desk, held, held.after, 9)
      await answerWith(desk, 'm1', 'hello', { places: ['x'] })
      expect((await leaseDeliveries(desk)).map(({ to }) => to)).toEqual(['x'])
      expect((await leaseSpread(desk, 1)).map(({ to }) => to)).toEqual(['ada'])
      expect((await leaseSpread(desk)).map(({ to }) => to)).toEqual(['bob'])
    }),
  )
  test(
    'a busy host is left alone in both',
    withDesk(open, async ({ desk }) => {
      await follow(desk, 'https://one.test/inbox', 'https://two.test/inbox')
      await broadcast(desk)
      const held = await leaseOnlyBroadcast(desk)
      await spreadPage(desk, held, held.after, 9)
      const request = {
        holder: 'worker',
        limit: 9,
        leaseMs,
        shares: { most: 1, taken: new Map([['one.test', 1]]) },
        rank: 'broadcast',
      } as const
      expect((await desk.leaseDeliveries(request)).map(({ to }) => to)).toEqual(['https://two.test/inbox'])
    }),
  )
}

function describeBroadcastDurability(open: OpenDesk): void {
  test(
    'after a crash a broadcast goes on where it stopped, and all that was done by the agent is there',
    withDesk(open, async ({ desk: first, advance, reopen }) => {
      if (!reopen) return
      await follow(first, 'ada', 'bob')
      await broadcast(first)
      await first.act([sketchPost('gone', 'regrets', { isListed: true }), sketchDeletion('gone')], 'c')
      const held = await leaseOnlyBroadcast(first)
      const after = await spreadPage(first, held, held.after, 1)
      await first.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(first)
      await first.say(turn, { response: sketchResponse(turn, 'looking', 'working'), deliveries: [] })
      const desk = await reopen()
      advance(60_000)
      try {
        const again = await leaseOnlyBroadcast(desk)
        expect(again).toMatchObject({ id: held.id, after, until: held.until, target: { note: 1 } })
        await spreadPage(desk, again, again.after, 9)
        expect((await leaseSpread(desk)).map(({ to }) => to)).toEqual(['ada', 'bob'])
        expect(await desk.findResponse('gone')).toMatchObject({
          response: { parts: [] },
          retractedAt: expect.any(String),
        })
        expect(await desk.countListed({ agent: 'echo', via: 'a2a' })).toBe(0)
        expect(await desk.findAnswer(turn.message)).toMatchObject({ response: { parts: [{ content: 'looking' }] } })
      } finally {
        await desk.close()
      }
    }),
  )
}
