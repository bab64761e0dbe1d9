// Tests that a store delivers the reactions of agents.
import { describe, expect, test } from 'vitest'
import { answerWith, sketchReaction } from '../setup/action-sketches.ts'
import type { OpenStore } from '../setup/under-test.ts'
import { leaseDeliveries, leaseOnlyDelivery, sketchIntake, withStore } from '../setup/under-test.ts'

export function reactionContract(openStore: OpenStore): void {
  describe('reactions', () => describeReactions(openStore))
}

function describeReactions(openStore: OpenStore): void {
  test(
    'a reaction is a delivery for its message, without a response',
    withStore(openStore, async ({ store }) => {
      const turn = await answerWith(store, 'm1', 'thanks')
      await store.storeActions([sketchReaction(turn.message, 'x')], 'c of the act')
      const delivery = await leaseOnlyDelivery(store)
      expect(delivery).toMatchObject({ to: 'x', message: { id: 'm1' }, agent: 'echo', via: 'a2a' })
      expect(delivery.response).toBeUndefined()
      expect((await store.findMessage('m1'))?.deliveries).toMatchObject([{ to: 'x' }])
    }),
  )
  test(
    'an agent cannot react to a message that its author has withdrawn',
    withStore(openStore, async ({ store }) => {
      const authorship = { author: 'ada', object: 'note' }
      const { message } = await store.admit(sketchIntake('m1', { authorship }), 'c')
      await store.withdraw('a2a', [{ kind: 'forget', ...authorship }])
      await store.storeActions([sketchReaction(message, 'x')], 'c')
      expect(await leaseDeliveries(store)).toEqual([])
    }),
  )
  test(
    'findMessageTo() returns the newest message with that id only to that agent, until its withdrawal',
    withStore(openStore, async ({ store }) => {
      const sketchScope = (scope: string) => ({
        thread: { scope },
        duplicateKey: scope,
        authorship: { author: 'ada', object: scope },
      })
      await store.admit(sketchIntake('m1', sketchScope('first')), 'c')
      const secondAdmission = await store.admit(
        sketchIntake('m1', { ...sketchScope('second'), target: { second: true } }),
        'c',
      )
      await store.admit(sketchIntake('m1', { ...sketchScope('third'), agent: 'help' }), 'c')
      const message = { message: secondAdmission.message, via: 'a2a', target: { second: true } }
      expect(await store.findMessageTo('echo', 'm1')).toEqual(message)
      expect(await store.findMessageTo('nobody', 'm1')).toBeUndefined()
      expect(await store.findMessageTo('echo', 'm2')).toBeUndefined()
      await store.withdraw('a2a', [{ kind: 'forget', author: 'ada', object: 'second' }])
      expect(await store.findMessageTo('echo', 'm1')).toMatchObject({ target: { answerTo: 'm1' } })
    }),
  )
}
