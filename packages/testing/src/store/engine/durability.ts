// Tests that acknowledged work survives a crash and a close of the store.
import type { Store } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import type { OpenStore, StoreUnderTest } from '../setup/under-test.ts'
import {
  inThread,
  leaseDeliveries,
  leaseMs,
  leaseOnlyTurn,
  leaseTurns,
  recipientsOf,
  sketchAnswer,
  sketchIntake,
  withStore,
} from '../setup/under-test.ts'

export function durabilityContract(openStore: OpenStore): void {
  describe('durability', () => {
    test(
      'keeps acknowledged messages after a crash, and another worker takes up running turns',
      withStore(openStore, async storeSetup => {
        if (!storeSetup.reopen) return
        const unfinishedWork = await leaveWork(storeSetup.store)
        const store = await storeSetup.reopen()
        storeSetup.advance(leaseMs)
        try {
          await expectWork(store, unfinishedWork)
        } finally {
          await store.close()
        }
      }),
    )
    test('allows a second close(), and a closed store accepts nothing', async () => {
      const { store } = await openStore()
      await store.close()
      await store.close()
      await expect(store.admit(sketchIntake('m1'), 'c')).rejects.toThrow('closed')
    })
    test('lets running calls finish at close()', async () => {
      const { store, reopen }: StoreUnderTest = await openStore()
      const admission = store.admit(sketchIntake('m1'), 'c')
      await store.close()
      expect(await admission).toMatchObject({ outcome: 'accepted' })
      if (!reopen) return
      const reopenedStore = await reopen()
      expect(await reopenedStore.findMessage('m1')).toMatchObject({ state: 'received' })
      await reopenedStore.close()
    })
  })
}

/**
 * Stores an answered message with one open delivery, a message with a running turn, a message that waits for that turn, and a secret, a
 * state, a blob and a refusal.
 */
async function leaveWork(store: Store): Promise<{ readonly leasedToken: number }> {
  const blob = { digest: 'ab'.repeat(32), bytes: Buffer.from('picture') }
  await store.admit(sketchIntake('m1', inThread('t', { blobs: [blob], aliases: ['alias of m1'] })), 'c')
  const answeredTurn = await leaseOnlyTurn(store)
  await store.commit(
    answeredTurn,
    sketchAnswer(answeredTurn, 'hello', ['x'], { state: { count: 1 }, aliases: ['<a@agents.test>'] }),
  )
  await leaseDeliveries(store)
  const task = { owner: 'ada', id: 'task 1', context: 'u' }
  await store.admit(sketchIntake('m2', inThread('u', { task })), 'c')
  await store.admit(sketchIntake('m3', inThread('u')), 'c')
  const { token } = await leaseOnlyTurn(store)
  await store.readOrCreateSecret('key', async () => 'made once')
  store.refuse({ at: 'now', via: 'a2a', from: 'x', code: 'unsigned', reason: 'Cannot verify' })
  await store.listRefusals({ limit: 1 })
  return { leasedToken: token }
}

async function expectWork(store: Store, { leasedToken }: { readonly leasedToken: number }): Promise<void> {
  expect(await store.findMessage('m1')).toMatchObject({ state: 'answered', response: { id: 'answer to m1' } })
  expect(await store.admit(sketchIntake('m1'), 'c')).toMatchObject({ outcome: 'duplicate' })
  const [turn] = await leaseTurns(store)
  expect(turn).toMatchObject({
    attempt: 2,
    content: { id: 'm2', raw: { id: 'm2' } },
    task: { owner: 'ada', id: 'task 1' },
  })
  expect(turn?.token).toBeGreaterThan(leasedToken)
  const deliveries = await leaseDeliveries(store)
  expect(recipientsOf(deliveries)).toEqual(['m1 → x'])
  expect(deliveries[0]).toMatchObject({ attempt: 2, message: { raw: { id: 'm1' } } })
  expect(await store.readOrCreateSecret('key', async () => 'made twice')).toBe('made once')
  expect(await store.findBlob('ab'.repeat(32))).toBeDefined()
  expect(await store.findTask({ owner: 'ada', id: 'task 1' })).toMatchObject({ state: 'working' })
  expect(await store.listRefusals({ limit: 9 })).toHaveLength(1)
  expect((await store.count()).messages).toMatchObject({ answered: 1, working: 1, received: 1 })
  await store.admit(sketchIntake('m4', inThread('elsewhere', { thread: { references: ['<a@agents.test>'] } })), 'c')
  const nextTurn = (await leaseTurns(store)).find(({ content }) => content.id === 'm4')
  expect(nextTurn?.content.thread_source).toBe('t')
  expect(await store.readState('echo', nextTurn?.thread ?? 0)).toEqual({ count: 1 })
}
