// Tests how a store informs an agent of a canceled task in which the agent has asked something.
import { LeaseLost } from '@postern/message'
import type { TaskCancelEvent } from '@postern/pipeline'
import { taskCanceledFlag } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { admitRequirement, fromAda, sketchDecision } from '../setup/requirement-sketch.ts'
import { adasTask, answerTask, sketchTaskIntake, sketchWatcher } from '../setup/task-sketches.ts'
import type { OpenStore, StoreUnderTest } from '../setup/under-test.ts'
import {
  leaseDeliveries,
  leaseOnlyTurn,
  leaseTurns,
  sketchAnswer,
  sketchIntake,
  sketchResponse,
  withStore,
} from '../setup/under-test.ts'

/** A cancel of Ada's task, which the agent gets in the conversation of the task. */
const event: TaskCancelEvent = {
  correlationId: 'canceled',
  describe(question) {
    const message = { parts: [], kind: 'cancel' as const, in_reply_to: question, thread_source: 'ctx' }
    const { duplicateKey: _, ...intake } = sketchIntake('cancel', { message, flags: [taskCanceledFlag] })
    return intake
  },
}

const cancel = ({ store }: StoreUnderTest) => store.cancelTask(adasTask, event)

/** Opens the task and lets the agent ask something in it. */
async function admitCancel({ store }: StoreUnderTest): Promise<void> {
  await store.admit(sketchIntake('m1', sketchTaskIntake(adasTask)), 'c')
  await answerTask(store, 'which one?', 'input_required')
}

export function describeCancelEvents(openStore: OpenStore): void {
  test(
    'an agent that has asked learns once of the canceled task, and its answer does not change it',
    withStore(openStore, async storeSetup => {
      const { store } = storeSetup
      await admitCancel(storeSetup)
      await store.watchTask(adasTask, sketchWatcher('a'))
      expect(await Promise.all([cancel(storeSetup), cancel(storeSetup), store.cancelTask(adasTask)])).toContain(true)
      const [delivery] = await leaseDeliveries(store)
      expect(delivery?.target).toMatchObject({ id: adasTask.id, state: 'canceled' })
      const canceled = await store.findTask(adasTask)
      const turn = await leaseOnlyTurn(store)
      expect(turn).toMatchObject({ correlationId: 'canceled', flags: [taskCanceledFlag], task: undefined })
      expect(turn.content).toMatchObject({ kind: 'cancel', in_reply_to: 'answer to m1' })
      const asking = await store.findMessage('m1')
      expect(turn.thread).toBe(asking?.thread)
      await store.commit(turn, sketchAnswer(turn, 'so be it'))
      expect(await store.findResponse('answer to cancel')).toBeDefined()
      const taskAfter = await store.findTask(adasTask)
      expect(taskAfter).toMatchObject({
        state: 'canceled',
        updatedAt: canceled?.updatedAt,
        response: { id: 'answer to m1' },
      })
      expect([taskAfter?.earlierResponses, taskAfter?.entries.length]).toEqual([[], 2])
      expect([await leaseDeliveries(store), await leaseTurns(store)]).toEqual([[], []])
    }),
  )
  test(
    'an agent that has learned of a canceled task learns nothing more',
    withStore(openStore, async storeSetup => {
      await admitCancel(storeSetup)
      expect(await cancel(storeSetup)).toBe(true)
      expect(await cancel(storeSetup)).toBe(false)
      await answerTask(storeSetup.store, 'so be it')
      expect(await leaseTurns(storeSetup.store)).toEqual([])
    }),
  )
  test(
    'an agent without an open question does not learn of a canceled task',
    withStore(openStore, async storeSetup => {
      const { store } = storeSetup
      await store.admit(sketchIntake('m1', sketchTaskIntake(adasTask)), 'c')
      expect(await cancel(storeSetup)).toBe(true)
      expect(await leaseTurns(store)).toEqual([])
      await store.admit(sketchIntake('m2', sketchTaskIntake({ owner: 'ada', id: 'task 2' })), 'c')
      await answerTask(store, 'which one?', 'input_required')
      await store.admit(sketchIntake('m3', sketchTaskIntake({ owner: 'ada', id: 'task 2' })), 'c')
      await answerTask(store, 'working on it', 'working')
      expect(await store.cancelTask({ owner: 'ada', id: 'task 2' }, event)).toBe(true)
      expect(await leaseTurns(store)).toEqual([])
    }),
  )
  test(
    'an agent learns of a canceled task whose answer was pending, and that turn no longer counts',
    withStore(openStore, async storeSetup => {
      const { store } = storeSetup
      await admitCancel(storeSetup)
      await store.admit(sketchIntake('m2', sketchTaskIntake(adasTask)), 'c')
      const answering = await leaseOnlyTurn(store)
      expect(await cancel(storeSetup)).toBe(true)
      await expect(store.commit(answering, sketchAnswer(answering, 'late'))).rejects.toThrow(LeaseLost)
      expect((await leaseOnlyTurn(store)).content).toMatchObject({ kind: 'cancel', in_reply_to: 'answer to m1' })
    }),
  )
  test(
    'exactly one of a cancel and a decision reaches the agent',
    withStore(openStore, async storeSetup => {
      const { store } = storeSetup
      for (let round = 0; round < 4; round += 1) {
        const key = { owner: 'ada', id: `task ${round}` }
        await admitRequirement(storeSetup, `d${round}`, fromAda(sketchTaskIntake(key)))
        const decide = () => store.resolveRequirement(sketchDecision(`d${round}`), 'c')
        const racers = [() => store.cancelTask(key, event), decide] as const
        const [isCanceled] = await (round % 2
          ? Promise.all(racers.map(race => race()))
          : Promise.all(racers.toReversed().map(race => race())).then(results => results.toReversed()))
        expect(isCanceled).toBe(true)
        const turn = await leaseOnlyTurn(store)
        expect(turn.content.kind).toBe('cancel')
        await store.commit(turn, sketchAnswer(turn, 'so be it'))
        expect(await leaseTurns(store)).toEqual([])
        expect((await decide()).outcome).toBe('refused')
      }
    }),
  )
  test(
    'an agent learns of a canceled task after a restart',
    withStore(openStore, async storeSetup => {
      await admitCancel(storeSetup)
      await cancel(storeSetup)
      const store = await storeSetup.reopen?.()
      if (!store) return
      expect((await leaseOnlyTurn(store)).content.kind).toBe('cancel')
      await store.close()
    }),
  )
  test(
    'expireTasks() removes the agent’s record of a cancel with the task, after its turn has ended',
    withStore(openStore, async storeSetup => {
      const { store, now, advance } = storeSetup
      const inOwn = { ...sketchTaskIntake(adasTask), thread: { scope: 'ada' } }
      await store.admit(sketchIntake('m1', inOwn), 'c')
      await answerTask(store, 'which one?', 'input_required')
      const describe = (question: string) => ({ ...event.describe(question), thread: { scope: 'ada', references: [] } })
      await store.cancelTask(adasTask, { ...event, describe })
      const task = { owner: 'ada', id: 'task 2' }
      await store.admit(sketchIntake('m2', sketchTaskIntake(task, 'elsewhere')), 'c')
      advance(1_000)
      expect((await store.expireTasks({ unchangedSince: now(), limit: 9 })).removed).toBe(0)
      const turn = (await leaseTurns(store)).find(({ content }) => content.kind === 'cancel')
      if (!turn) throw new Error('no turn tells of the canceled task')
      await store.commit(turn, { response: sketchResponse(turn, 'so be it'), deliveries: [] })
      // The newest row stays, so that its number is not given again.
      expect((await store.expireTasks({ unchangedSince: now(), limit: 9 })).removed).toBe(0)
      await store.admit(sketchIntake('m3', sketchTaskIntake(task, 'elsewhere')), 'c')
      expect((await store.expireTasks({ unchangedSince: now(), limit: 9 })).removed).toBe(1)
      expect(await store.findResponse('answer to cancel')).toBeUndefined()
      expect((await store.listMessages({ limit: 9 })).map(({ id }) => id)).toEqual(['m3', 'm2'])
    }),
  )
  test(
    'expireTasks() keeps the thread in which an agent learns of a canceled task',
    withStore(openStore, async storeSetup => {
      const { store, now, advance } = storeSetup
      await store.admit(
        sketchIntake('m1', { ...sketchTaskIntake(adasTask, 'elsewhere'), thread: { scope: 'ada' } }),
        'c',
      )
      await answerTask(store, 'which one?', 'input_required')
      await store.admit(
        sketchIntake('m2', { ...sketchTaskIntake({ owner: 'ada', id: 'task 2' }), thread: { scope: 'ada' } }),
        'c',
      )
      await answerTask(store, 'done')
      const describe = (question: string) => ({ ...event.describe(question), thread: { scope: 'ada', references: [] } })
      await store.cancelTask(adasTask, { ...event, describe })
      advance(1_000)
      expect((await store.expireTasks({ unchangedSince: now(), limit: 9 })).removed).toBe(1)
      const turn = await leaseOnlyTurn(store)
      await store.commit(turn, sketchAnswer(turn, 'so be it'))
      expect(await store.findResponse('answer to cancel')).toBeDefined()
    }),
  )
}
