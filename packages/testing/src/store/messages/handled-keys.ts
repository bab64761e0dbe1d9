// Tests messages that arrive again after their deletion.
import { describe, expect, test } from 'vitest'
import { ada, converse, sketchFrom } from '../setup/people-sketches.ts'
import { adasTask, answerTask } from '../setup/task-sketches.ts'
import type { OpenStore } from '../setup/under-test.ts'
import { inThread, leaseTurns, sketchIntake, withStore } from '../setup/under-test.ts'

const weekMs = 7 * 24 * 3_600_000

export function handledKeyContract(openStore: OpenStore): void {
  describe('repeated forgotten messages', () => {
    describePeople(openStore)
    describeTasks(openStore)
  })
}

function describePeople(openStore: OpenStore): void {
  test(
    'get no second answer while their channel may repeat them',
    withStore(openStore, async ({ store, advance }) => {
      await converse(store, 'm1', sketchFrom(ada, 'm1'))
      await store.forgetPerson({ agent: 'echo', addresses: [ada] })
      advance(weekMs)
      const secondAdmission = await store.admit(sketchIntake('m1', sketchFrom(ada, 'm1')), 'c')
      expect(secondAdmission).toEqual({ outcome: 'forgotten', message: 0 })
      expect(await leaseTurns(store)).toEqual([])
      expect(await store.findMessage('m1')).toBeUndefined()
      advance(1)
      expect(await store.admit(sketchIntake('m1', sketchFrom(ada, 'm1')), 'c')).toMatchObject({ outcome: 'accepted' })
    }),
  )
  test(
    'have keys that count only for their agent and channel',
    withStore(openStore, async ({ store }) => {
      const sketch = sketchFrom(ada, 'm1')
      await converse(store, 'm1', sketch)
      await store.forgetPerson({ agent: 'echo', addresses: [ada] })
      const byMail = { ...sketch, message: { ...sketch.message, received_via: 'email' } }
      for (const otherIntake of [{ ...sketch, agent: 'help' }, byMail, { ...sketch, duplicateKey: 'another key' }])
        expect(await store.admit(sketchIntake('m1', otherIntake), 'c')).toMatchObject({ outcome: 'accepted' })
    }),
  )
  test(
    'stay known when the store reopens',
    withStore(openStore, async ({ store, reopen }) => {
      await converse(store, 'm1', sketchFrom(ada, 'm1'))
      await store.forgetPerson({ agent: 'echo', addresses: [ada] })
      const otherStore = await reopen?.()
      const secondAdmission = await otherStore?.admit(sketchIntake('m1', sketchFrom(ada, 'm1')), 'c')
      expect(secondAdmission?.outcome ?? 'forgotten').toBe('forgotten')
      await otherStore?.close()
    }),
  )
}

function describeTasks(openStore: OpenStore): void {
  test(
    'get no second answer after their task expired, and the task does not return',
    withStore(openStore, async ({ store, now, advance }) => {
      const intake = sketchIntake(
        'm1',
        inThread('ctx', { task: { ...adasTask, context: 'ctx' }, thread: { scope: 'ada' } }),
      )
      await store.admit(intake, 'c')
      await answerTask(store, 'done')
      advance(1_000)
      await store.admit(sketchIntake('newest', { disposition: 'keep' }), 'c')
      expect(await store.expireTasks({ unchangedSince: now(), limit: 9 })).toMatchObject({ removed: 1 })
      expect(await store.admit(intake, 'c')).toEqual({ outcome: 'forgotten', message: 0 })
      expect(await store.findTask(adasTask)).toBeUndefined()
      expect(await leaseTurns(store)).toEqual([])
    }),
  )
}
