import { describe, expect, test } from 'vitest'
import { answerWith, sketchReaction } from './act-sketches.ts'
import type { OpenDesk } from './under-test.ts'
import { leaseDeliveries, leaseOnlyDelivery, sketchIntake, withDesk } from './under-test.ts'

export function reactionContract(open: OpenDesk): void {
  describe('reactions', () => describeReactions(open))
}

function describeReactions(open: OpenDesk): void {
  test(
    'a reaction is a delivery of the message it is about, without a response',
    withDesk(open, async ({ desk }) => {
      const turn = await answerWith(desk, 'm1', 'thanks')
      await desk.act([sketchReaction(turn.message, 'x')], 'c of the act')
      const delivery = await leaseOnlyDelivery(desk)
      expect(delivery).toMatchObject({ to: 'x', message: { id: 'm1' }, agent: 'echo', via: 'a2a' })
      expect(delivery.response).toBeUndefined()
      expect((await desk.findMessage('m1'))?.deliveries).toMatchObject([{ to: 'x' }])
    }),
  )
  test(
    'nobody reacts to what was taken back by its author',
    withDesk(open, async ({ desk }) => {
      const authorship = { author: 'ada', object: 'note' }
      const { message } = await desk.admit(sketchIntake('m1', { authorship }), 'c')
      await desk.withdraw('a2a', [{ kind: 'forget', ...authorship }])
      await desk.act([sketchReaction(message, 'x')], 'c')
      expect(await leaseDeliveries(desk)).toEqual([])
    }),
  )
  test(
    'findMessageTo() gives the newest message of that id to that agent alone, until it is taken back',
    withDesk(open, async ({ desk }) => {
      const scoped = (scope: string) => ({
        thread: { scope },
        duplicateKey: scope,
        authorship: { author: 'ada', object: scope },
      })
      await desk.admit(sketchIntake('m1', scoped('first')), 'c')
      const second = await desk.admit(sketchIntake('m1', { ...scoped('second'), target: { second: true } }), 'c')
      await desk.admit(sketchIntake('m1', { ...scoped('third'), agent: 'help' }), 'c')
      const found = { message: second.message, via: 'a2a', target: { second: true } }
      expect(await desk.findMessageTo('echo', 'm1')).toEqual(found)
      expect(await desk.findMessageTo('nobody', 'm1')).toBeUndefined()
      expect(await desk.findMessageTo('echo', 'm2')).toBeUndefined()
      await desk.withdraw('a2a', [{ kind: 'forget', author: 'ada', object: 'second' }])
      expect(await desk.findMessageTo('echo', 'm1')).toMatchObject({ target: { answerTo: 'm1' } })
    }),
  )
}
