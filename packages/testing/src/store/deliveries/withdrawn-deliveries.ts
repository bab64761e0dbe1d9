// Tests the withdrawal of deliveries during an attempt.
import { LeaseLost } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { answerWith, sketchDeletion, sketchPost } from '../setup/action-sketches.ts'
import type { OpenStore } from '../setup/under-test.ts'
import { leaseDeliveries, leaseMs, leaseOnlyDelivery, withStore } from '../setup/under-test.ts'

export function withdrawnDeliveryContract(openStore: OpenStore): void {
  describe('withdrawn deliveries in flight', () => {
    describeOrder(openStore)
    describeOperators(openStore)
  })
}

function describeOrder(openStore: OpenStore): void {
  test(
    'a deletion leaves after the running try of its post',
    withStore(openStore, async ({ store }) => {
      await store.storeActions([sketchPost('p1', 'regrets', { recipients: ['x'] })], 'c')
      const delivery = await leaseOnlyDelivery(store)
      await store.storeActions([sketchDeletion('p1', ['x'])], 'c')
      expect(await leaseDeliveries(store)).toEqual([])
      const wire = { content: 'regrets' }
      const attempt = { at: 1, ms: 2, status: 202 }
      await expect(store.settle(delivery, { state: 'sent', wire, attempt })).rejects.toThrow(LeaseLost)
      const deletion = await leaseOnlyDelivery(store)
      expect(deletion).toMatchObject({ to: 'x', response: { id: 'p1', parts: [] } })
      await store.settle(deletion, { state: 'sent' })
      const records = await store.listDeliveries({ limit: 9 })
      expect(records.map(({ state, wire: storedWire }) => [state, storedWire])).toEqual([
        ['sent', null],
        ['dead', null],
      ])
      expect((await store.count()).deliveries).toMatchObject({ sent: 1, dead: 1, queued: 0 })
    }),
  )
  test(
    'a deletion leaves after the lease of an abandoned try expires, renewed or not',
    withStore(openStore, async ({ store, now, advance }) => {
      await store.storeActions([sketchPost('p1', 'regrets', { recipients: ['x'] })], 'c')
      const delivery = await leaseOnlyDelivery(store)
      await store.storeActions([sketchDeletion('p1', ['x'])], 'c')
      advance(leaseMs - 1)
      await store.renew(delivery, leaseMs)
      advance(leaseMs - 1)
      expect(await leaseDeliveries(store)).toEqual([])
      expect(await store.findNextDueAt()).toBe(now() + 1)
      advance(1)
      // The first poll finds that no worker tries it any more.
      await leaseDeliveries(store)
      expect(await leaseOnlyDelivery(store)).toMatchObject({ to: 'x', response: { parts: [] } })
      await expect(store.settle(delivery, { state: 'sent' })).rejects.toThrow(LeaseLost)
      await expect(store.renew(delivery, leaseMs)).rejects.toThrow(LeaseLost)
    }),
  )
  test(
    'an answer to a withdrawn question delays the next one to its destination until its try has ended',
    withStore(openStore, async ({ store }) => {
      const authorship = { author: 'ada', object: 'note' }
      const turn = await answerWith(store, 'm1', 'first', { recipients: ['x'], intake: { authorship } })
      const delivery = await leaseOnlyDelivery(store)
      await answerWith(store, 'm2', 'second', { recipients: ['x'] })
      await store.withdraw(turn.via, [{ kind: 'forget', ...authorship }])
      expect(await leaseDeliveries(store)).toEqual([])
      await expect(store.settle(delivery, { state: 'sent' })).rejects.toThrow(LeaseLost)
      expect((await leaseOnlyDelivery(store)).message.id).toBe('m2')
    }),
  )
}

function describeOperators(openStore: OpenStore): void {
  test(
    'an operator who drops and retries a running delivery leaves it to its worker',
    withStore(openStore, async ({ store }) => {
      await answerWith(store, 'm1', 'words', { recipients: ['x'] })
      const delivery = await leaseOnlyDelivery(store)
      expect(await store.dropDelivery(delivery.id)).toBe(true)
      expect(await store.retryDelivery(delivery.id)).toBe(true)
      expect(await leaseDeliveries(store)).toEqual([])
      await store.settle(delivery, { state: 'sent' })
      expect((await store.count()).deliveries).toMatchObject({ sent: 1, dead: 0, queued: 0 })
    }),
  )
  test(
    'an operator cannot retry a withdrawn post, during its try or later',
    withStore(openStore, async ({ store, advance }) => {
      await answerWith(store, 'm1', 'regrets', { recipients: ['x'] })
      const delivery = await leaseOnlyDelivery(store)
      advance(1)
      await store.storeActions([sketchDeletion('answer to m1', ['x'])], 'c')
      expect(await store.retryDelivery(delivery.id)).toBe(false)
      advance(1)
      await expect(store.settle(delivery, { state: 'dead', reason: 'refused', error: 'HTTP 500' })).rejects.toThrow(
        LeaseLost,
      )
      expect(await store.retryDelivery(delivery.id)).toBe(false)
      expect(await leaseOnlyDelivery(store)).toMatchObject({ response: { parts: [] } })
    }),
  )
}
