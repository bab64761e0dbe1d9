// Tests how a store leases, settles, postpones and groups deliveries.

import { isoTime, LeaseLost, mailGroup } from '@postern/message'
import type { Delivery, Store } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import type { OpenStore } from '../setup/under-test.ts'
import {
  inThread,
  leaseDeliveries,
  leaseMs,
  leaseOnlyDelivery,
  leaseOnlyTurn,
  recipientsOf,
  sketchAnswer,
  sketchIntake,
  sketchResponse,
  toDeliveryPlan,
  withStore,
} from '../setup/under-test.ts'

export function deliveryContract(openStore: OpenStore): void {
  describe('deliveries', () => {
    describeSending(openStore)
    describePostponing(openStore)
    describeQueueModes(openStore)
    describeGroups(openStore)
    describeDeliveryFencing(openStore)
    describeOperatorControl(openStore)
  })
}

/** Admits `id` to `thread` and answers it to `recipients`. */
async function answerTo(store: Store, id: string, thread: string, recipients: readonly string[]): Promise<void> {
  await store.admit(sketchIntake(id, inThread(thread)), `c-${id}`)
  const turn = await leaseOnlyTurn(store)
  await store.commit(turn, sketchAnswer(turn, `answer ${id}`, recipients))
}

const sentOutcome = { state: 'sent', wire: { type: 'Create' } } as const

function describeSending(openStore: OpenStore): void {
  test(
    'a delivery has the message and the whole answer, and its worker settles it with the sent document',
    withStore(openStore, async ({ store, now }) => {
      await answerTo(store, 'm1', 't', ['x'])
      const delivery = await leaseOnlyDelivery(store)
      expect(delivery).toMatchObject({ attempt: 1, queuedAt: now(), via: 'a2a', agent: 'echo', to: 'x' })
      expect(delivery).toMatchObject({
        target: { inbox: 'x' },
        correlationId: 'c-m1',
        message: { id: 'm1', raw: { id: 'm1' } },
      })
      expect(delivery.response).toMatchObject({ id: 'answer to m1', parts: [{ content: 'answer m1' }] })
      await store.settle(delivery, sentOutcome)
      const [record] = await store.listDeliveries({ limit: 9 })
      expect(record).toEqual({
        id: delivery.id,
        via: 'a2a',
        to: 'x',
        state: 'sent',
        attempts: 1,
        queued_at: isoTime(now()),
        ended_at: isoTime(now()),
        attempt_log: [],
        message_id: 'm1',
        wire: sentOutcome.wire,
      })
      expect(await leaseDeliveries(store)).toEqual([])
    }),
  )
  test(
    'the commit marks a pulled delivery as sent, without delaying others',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(store)
      const pulled = { ...toDeliveryPlan('x'), isPulled: true }
      await store.commit(turn, { response: sketchResponse(turn, 'hi'), deliveries: [pulled, toDeliveryPlan('x')] })
      expect(await store.listDeliveries({ limit: 9, state: 'sent' })).toMatchObject([{ to: 'x', attempts: 1 }])
      expect(await leaseDeliveries(store)).toHaveLength(1)
    }),
  )
  test(
    'a postponed delivery returns at its time with its error',
    withStore(openStore, async ({ store, now, advance }) => {
      await answerTo(store, 'm1', 't', ['x'])
      const firstDelivery = await leaseOnlyDelivery(store)
      await store.settle(firstDelivery, {
        state: 'later',
        dueAt: now() + 2_000,
        reason: 'unavailable',
        error: 'HTTP 503',
        wire: { try: 1 },
      })
      const next_attempt_at = new Date(now() + 2_000).toISOString()
      const waiting = { state: 'later', attempts: 1, last_error: 'HTTP 503', next_attempt_at, wire: { try: 1 } }
      expect(await store.listDeliveries({ limit: 9 })).toMatchObject([waiting])
      expect(await store.findNextDueAt()).toBe(now() + 2_000)
      expect(await leaseDeliveries(store)).toEqual([])
      advance(2_000)
      const secondDelivery = await leaseOnlyDelivery(store)
      expect(secondDelivery).toMatchObject({ id: firstDelivery.id, attempt: 2, queuedAt: firstDelivery.queuedAt })
      expect([firstDelivery.firstAttemptAt, secondDelivery.firstAttemptAt]).toEqual([undefined, now() - 2_000])
      await store.settle(secondDelivery, { state: 'dead', reason: 'refused', error: 'HTTP 410' })
      const dead = { state: 'dead', attempts: 2, last_error: 'HTTP 410', wire: { try: 1 } }
      expect(await store.listDeliveries({ limit: 9, state: 'dead' })).toMatchObject([dead])
      expect(await store.findNextDueAt()).toBeUndefined()
    }),
  )
  test(
    'a late delivery still shows its delay’s reason after its arrival',
    withStore(openStore, async ({ store, now, advance }) => {
      await answerTo(store, 'm1', 't', ['x'])
      await store.settle(await leaseOnlyDelivery(store), {
        state: 'later',
        dueAt: now() + 10,
        reason: 'unavailable',
        error: 'HTTP 503',
      })
      advance(10)
      await store.settle(await leaseOnlyDelivery(store), sentOutcome)
      expect(await store.listDeliveries({ limit: 9 })).toMatchObject([
        { state: 'sent', attempts: 2, last_error: 'HTTP 503' },
      ])
    }),
  )
}

function describePostponing(openStore: OpenStore): void {
  test(
    'a postponed delivery without a try gets its attempt back',
    withStore(openStore, async ({ store, now, advance }) => {
      await store.admit(sketchIntake('m1'), 'c')
      const turn = await leaseOnlyTurn(store)
      await store.commit(turn, sketchAnswer(turn, 'hello', ['x']))
      const attempts: number[] = []
      for (const uncounted of [true, false, true]) {
        const [leasedDelivery] = await leaseDeliveries(store)
        if (!leasedDelivery) throw new Error('there is a delivery')
        attempts.push(leasedDelivery.attempt)
        await store.settle(leasedDelivery, {
          state: 'later',
          dueAt: now() + 10,
          reason: 'unavailable',
          error: 'left alone',
          isUncounted: uncounted,
        })
        advance(10)
      }
      expect(attempts).toEqual([1, 1, 2])
      expect(await store.listDeliveries({ limit: 9 })).toMatchObject([{ state: 'later', attempts: 1 }])
      const [lastDelivery] = await leaseDeliveries(store)
      if (lastDelivery) await store.settle(lastDelivery, { state: 'sent' })
      expect(await store.listDeliveries({ limit: 9 })).toMatchObject([{ state: 'sent', attempts: 2 }])
    }),
  )
}

function describeQueueModes(openStore: OpenStore): void {
  test(
    'deliveries to one destination in one thread run one after another, while others continue',
    withStore(openStore, async ({ store, now, advance }) => {
      await answerTo(store, 'm1', 't', ['x', 'y'])
      await answerTo(store, 'm2', 't', ['x'])
      await answerTo(store, 'm3', 'u', ['x'])
      const [toX, ...otherDeliveries] = await leaseDeliveries(store)
      expect(recipientsOf([toX as Delivery, ...otherDeliveries])).toEqual(['m1 → x', 'm1 → y', 'm3 → x'])
      await store.settle(toX as Delivery, {
        state: 'later',
        dueAt: now() + 1_000,
        reason: 'unavailable',
        error: 'busy',
      })
      expect(await leaseDeliveries(store)).toEqual([])
      advance(1_000)
      const secondLease = await leaseOnlyDelivery(store)
      expect(recipientsOf([secondLease])).toEqual(['m1 → x'])
      await store.settle(secondLease, sentOutcome)
      expect(recipientsOf(await leaseDeliveries(store))).toEqual(['m2 → x'])
    }),
  )
  test(
    'a dead delivery does not block its destination, and handshakes keep the same order',
    withStore(openStore, async ({ store }) => {
      const handshake = { disposition: 'keep' as const, deliveries: [toDeliveryPlan('x')] }
      await store.admit(sketchIntake('follow', inThread('t', handshake)), 'c')
      await answerTo(store, 'm1', 't', ['x'])
      const firstDelivery = await leaseOnlyDelivery(store)
      expect(recipientsOf([firstDelivery])).toEqual(['handshake → x'])
      await store.settle(firstDelivery, { state: 'dead', reason: 'refused', error: 'gone' })
      expect(recipientsOf(await leaseDeliveries(store))).toEqual(['m1 → x'])
    }),
  )
}

function describeGroups(openStore: OpenStore): void {
  test(
    'all mail is one group with its own share, and ports of one machine are one host',
    withStore(openStore, async ({ store }) => {
      const mailboxes = [1, 2, 3, 4, 5].map(index => `ann@host${index}.test`)
      const ports = [1, 2, 3, 4].map(port => `https://push.test:${port}/inbox`)
      for (const [index, to] of [...mailboxes, ...ports, 'https://peer.test/inbox'].entries())
        await answerTo(store, `m${index}`, `t${index}`, [to])
      const shares = { maxPerGroup: 2, maxByGroup: new Map([[mailGroup, 3]]), usedByGroup: new Map() }
      const leased = await store.leaseDeliveries({ holder: 'w', limit: 100, leaseMs, rank: 'answer', shares })
      expect(leased.map(({ to }) => to)).toEqual([
        ...mailboxes.slice(0, 3),
        ...ports.slice(0, 2),
        'https://peer.test/inbox',
      ])
    }),
  )
}

function describeDeliveryFencing(openStore: OpenStore): void {
  test(
    'another worker takes up a delivery after its lease, and the first one cannot settle it',
    withStore(openStore, async ({ store, advance }) => {
      await answerTo(store, 'm1', 't', ['x'])
      const lost = await leaseOnlyDelivery(store)
      advance(leaseMs - 1)
      await store.renew(lost, leaseMs)
      advance(leaseMs - 1)
      expect(await leaseDeliveries(store)).toEqual([])
      advance(1)
      const secondLease = await leaseOnlyDelivery(store)
      expect(secondLease).toMatchObject({ id: lost.id, attempt: 2 })
      await expect(store.settle(lost, { state: 'dead', reason: 'refused', error: 'no' })).rejects.toThrow(LeaseLost)
      await expect(store.renew(lost, leaseMs)).rejects.toThrow(LeaseLost)
      await store.settle(secondLease, sentOutcome)
      await expect(store.settle(secondLease, sentOutcome)).rejects.toThrow(LeaseLost)
      expect(await store.listDeliveries({ limit: 9 })).toMatchObject([{ state: 'sent', attempts: 2 }])
    }),
  )
  test(
    'a worker that returned a delivery cannot renew its lease, and the due time stays',
    withStore(openStore, async ({ store, now, advance }) => {
      await answerTo(store, 'm1', 't', ['x'])
      const leasedDelivery = await leaseOnlyDelivery(store)
      await store.settle(leasedDelivery, { state: 'later', dueAt: now() + 1_000, reason: 'unavailable', error: 'busy' })
      await expect(store.renew(leasedDelivery, leaseMs)).rejects.toThrow(LeaseLost)
      advance(1_000)
      expect(await leaseOnlyDelivery(store)).toMatchObject({ id: leasedDelivery.id, attempt: 2 })
    }),
  )
}

function describeOperatorControl(openStore: OpenStore): void {
  test(
    'retryDelivery() tries a dead delivery at once, keeps its attempts and restarts its time limit',
    withStore(openStore, async ({ store, now, advance }) => {
      await answerTo(store, 'm1', 't', ['x'])
      const firstDelivery = await leaseOnlyDelivery(store)
      await store.settle(firstDelivery, { state: 'dead', reason: 'refused', error: 'gone' })
      advance(1_000)
      expect(await store.retryDelivery(firstDelivery.id)).toBe(true)
      expect(await store.listDeliveries({ limit: 9, state: 'dead' })).toEqual([])
      const secondDelivery = await leaseOnlyDelivery(store)
      expect(secondDelivery).toMatchObject({ id: firstDelivery.id, attempt: 2, queuedAt: now() })
      expect(secondDelivery.firstAttemptAt).toBeUndefined()
      await store.settle(secondDelivery, sentOutcome)
      expect(await store.retryDelivery(firstDelivery.id)).toBe(false)
      expect(await store.retryDelivery('no such delivery')).toBe(false)
    }),
  )
  test(
    'retryDelivery() hurries a waiting destination and keeps its order',
    withStore(openStore, async ({ store, now }) => {
      await answerTo(store, 'm1', 't', ['x'])
      await answerTo(store, 'm2', 't', ['x'])
      const firstDelivery = await leaseOnlyDelivery(store)
      await store.settle(firstDelivery, { state: 'later', dueAt: now() + 60_000, reason: 'unavailable', error: 'busy' })
      const [second] = await store.listDeliveries({ limit: 1, state: 'queued' })
      expect(await store.retryDelivery(second?.id ?? '')).toBe(true)
      const secondLease = await leaseOnlyDelivery(store)
      expect(secondLease.id).toBe(firstDelivery.id)
      expect(await store.retryDelivery(firstDelivery.id)).toBe(true)
      expect(await leaseDeliveries(store), 'what is being tried stays with who tries it').toEqual([])
      await store.settle(secondLease, sentOutcome)
      expect(recipientsOf(await leaseDeliveries(store))).toEqual(['m2 → x'])
    }),
  )
  test(
    'a retried delivery waits for the running one to the same destination',
    withStore(openStore, async ({ store }) => {
      await answerTo(store, 'm1', 't', ['x'])
      await answerTo(store, 'm2', 't', ['x'])
      const firstDelivery = await leaseOnlyDelivery(store)
      await store.settle(firstDelivery, { state: 'dead', reason: 'refused', error: 'gone' })
      const secondDelivery = await leaseOnlyDelivery(store)
      await store.retryDelivery(firstDelivery.id)
      expect(await leaseDeliveries(store)).toEqual([])
      await store.settle(secondDelivery, sentOutcome)
      expect(recipientsOf(await leaseDeliveries(store))).toEqual(['m1 → x'])
    }),
  )
  test(
    'dropDelivery() ends an open delivery, under any worker, and the next one to its destination continues',
    withStore(openStore, async ({ store }) => {
      await answerTo(store, 'm1', 't', ['x'])
      await answerTo(store, 'm2', 't', ['x'])
      const firstDelivery = await leaseOnlyDelivery(store)
      expect(await store.dropDelivery(firstDelivery.id)).toBe(true)
      expect(await store.dropDelivery(firstDelivery.id)).toBe(false)
      expect(await store.dropDelivery('no such delivery')).toBe(false)
      await expect(store.settle(firstDelivery, sentOutcome)).rejects.toThrow(LeaseLost)
      const dropped = { id: firstDelivery.id, last_error: 'dropped by the operator' }
      expect(await store.listDeliveries({ limit: 9, state: 'dead' })).toMatchObject([dropped])
      const secondDelivery = await leaseOnlyDelivery(store)
      await store.settle(secondDelivery, sentOutcome)
      expect(await store.dropDelivery(secondDelivery.id)).toBe(false)
    }),
  )
  test(
    'dismissDelivery() hides a dead letter and keeps its record, and the operator can still retry it',
    withStore(openStore, async ({ store }) => {
      await answerTo(store, 'm1', 't', ['x'])
      const leasedDelivery = await leaseOnlyDelivery(store)
      const { id } = leasedDelivery
      expect(await store.dismissDelivery(id)).toBe(false)
      await store.dropDelivery(id)
      await expect(store.settle(leasedDelivery, sentOutcome)).rejects.toThrow(LeaseLost)
      expect(await store.dismissDelivery(id)).toBe(true)
      expect(await store.dismissDelivery(id)).toBe(false)
      expect(await store.dropDelivery(id)).toBe(false)
      expect(await store.listDeliveries({ limit: 9, state: 'dead' })).toEqual([])
      expect(await store.listDeliveries({ limit: 9, state: 'dismissed' })).toMatchObject([{ id }])
      expect((await store.count()).deliveries).toMatchObject({ dead: 0, dismissed: 1 })
      expect(await store.retryDelivery(id)).toBe(true)
      await store.settle(await leaseOnlyDelivery(store), sentOutcome)
      expect((await store.count()).deliveries).toMatchObject({ sent: 1, dismissed: 0 })
    }),
  )
}
