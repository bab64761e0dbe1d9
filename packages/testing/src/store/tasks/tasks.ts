// Tests how a store keeps the state of A2A tasks, by owner.

import { LeaseLost } from '@postern/message'
import type { TaskFilter } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'
import { adasTask, answerTask, sketchTaskIntake } from '../setup/task-sketches.ts'
import type { OpenStore } from '../setup/under-test.ts'
import {
  leaseOnlyTurn,
  leaseTurns,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  sketchResponse,
  withStore,
} from '../setup/under-test.ts'
import { describeCancelEvents } from './cancel-events.ts'
import { describeExpiry } from './expiry.ts'
import { describeMost, describeWatches } from './watches.ts'

export function taskContract(openStore: OpenStore): void {
  describe('tasks', () => {
    describeLife(openStore)
    describeSteps(openStore)
    describeOwners(openStore)
    describeCancel(openStore)
    describeCancelEvents(openStore)
    describeList(openStore)
    describeWatches(openStore)
    describeMost(openStore)
    describeExpiry(openStore)
  })
}

function describeLife(openStore: OpenStore): void {
  test(
    'a task goes from submitted to working, and then to the state of its answer, with all messages',
    withStore(openStore, async ({ store, now, advance }) => {
      const admission = await store.admit(sketchIntake('m1', sketchTaskIntake(adasTask)), 'c')
      expect(admission.task).toEqual(adasTask)
      expect(await store.findTask(adasTask)).toMatchObject({
        ...adasTask,
        agent: 'echo',
        context: 'ctx',
        state: 'submitted',
      })
      advance(10)
      const turn = await leaseOnlyTurn(store)
      expect(turn.task).toEqual(adasTask)
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'working', updatedAt: now() })
      await store.commit(turn, { response: sketchResponse(turn, 'which one?', 'input_required'), deliveries: [] })
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'input_required' })
      await store.admit(sketchIntake('m2', sketchTaskIntake(adasTask)), 'c')
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'submitted' })
      expect(await store.findTaskMessage(adasTask)).toBe((await store.findMessageTo('echo', 'm2'))?.message)
      expect(await store.findTaskMessage({ ...adasTask, id: 'another' })).toBeUndefined()
      await answerTask(store, 'that one')
      const task = await store.findTask(adasTask)
      expect(task).toMatchObject({
        state: 'completed',
        response: { id: 'answer to m2', parts: [{ content: 'that one' }] },
      })
      expect(task?.entries.map(({ nativeId }) => nativeId)).toEqual(['m1', 'answer to m1', 'm2', 'answer to m2'])
    }),
  )
  test(
    'an agent without an answer completes its task',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', sketchTaskIntake(adasTask)), 'c')
      await store.commit(await leaseOnlyTurn(store), sayNothing())
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'completed', response: undefined })
    }),
  )
  test(
    'an ended task accepts no messages, but still knows its own',
    withStore(openStore, async ({ store }) => {
      const firstAdmission = await store.admit(sketchIntake('m1', sketchTaskIntake(adasTask)), 'c')
      await answerTask(store, 'done')
      const refusal = { code: 'unsupported', message: 'Cannot continue task: it has ended' }
      await expect(store.admit(sketchIntake('m2', sketchTaskIntake(adasTask)), 'c')).rejects.toMatchObject(refusal)
      expect(await store.findMessage('m2')).toBeUndefined()
      const secondAdmission = await store.admit(sketchIntake('m1', sketchTaskIntake(adasTask)), 'c')
      expect(secondAdmission).toEqual({ outcome: 'duplicate', message: firstAdmission.message, task: adasTask })
    }),
  )
  test(
    'a task ends with the last of its turns',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', sketchTaskIntake(adasTask)), 'c')
      await store.admit(sketchIntake('m2', sketchTaskIntake(adasTask)), 'c')
      await answerTask(store, 'first')
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'submitted', response: { id: 'answer to m1' } })
      await answerTask(store, 'second')
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'completed', response: { id: 'answer to m2' } })
    }),
  )
  test(
    'a message can reopen an ended task, but not a canceled one',
    withStore(openStore, async ({ store }) => {
      const { task, ...sketch } = sketchTaskIntake(adasTask)
      const reopen = (id: string) =>
        store.admit(sketchIntake(id, { ...sketch, ...(task && { task: { ...task, reopens: true } }) }), 'c')
      await reopen('m1')
      await answerTask(store, 'done')
      expect(await reopen('m2')).toMatchObject({ outcome: 'accepted' })
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'submitted' })
      await store.cancelTask(adasTask)
      await expect(reopen('m3')).rejects.toMatchObject({ message: 'Cannot continue task: it has ended' })
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'canceled' })
    }),
  )
  test(
    'a turn without an answer keeps its task’s earlier answer',
    withStore(openStore, async ({ store }) => {
      for (const id of ['m1', 'm2']) await store.admit(sketchIntake(id, sketchTaskIntake(adasTask)), 'c')
      await answerTask(store, 'first')
      await store.commit(await leaseOnlyTurn(store), sayNothing())
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'completed', response: { id: 'answer to m1' } })
    }),
  )
}

function describeSteps(openStore: OpenStore): void {
  test(
    'a working task stays so while any turn runs',
    withStore(openStore, async ({ store }) => {
      const states: unknown[] = []
      const noteState = async () => void states.push((await store.findTask(adasTask))?.state)
      await store.admit(sketchIntake('m1', sketchTaskIntake(adasTask)), 'c')
      const firstTurn = await leaseOnlyTurn(store)
      await store.admit(sketchIntake('m2', sketchTaskIntake(adasTask)), 'c')
      await noteState()
      await store.admit(sketchIntake('m3', sketchTaskIntake(adasTask, 'another thread')), 'c')
      const [parallelTurn] = await leaseTurns(store)
      await noteState()
      await store.commit(firstTurn, {
        response: sketchResponse(firstTurn, 'which one?', 'input_required'),
        deliveries: [],
      })
      await noteState()
      expect(states).toEqual(['working', 'working', 'working'])
      if (parallelTurn) await store.commit(parallelTurn, sketchAnswer(parallelTurn, 'done'))
      await answerTask(store, 'that one')
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'completed' })
    }),
  )
}

function describeOwners(openStore: OpenStore): void {
  test(
    "another owner's task does not exist",
    withStore(openStore, async ({ store }) => {
      const otherKey = { owner: 'bob', id: adasTask.id }
      await store.admit(sketchIntake('m1', sketchTaskIntake(adasTask)), 'c')
      expect(await store.findTask(otherKey)).toBeUndefined()
      expect(await store.cancelTask(otherKey)).toBe(false)
      expect(await store.listTasks({ owner: 'bob', limit: 9 })).toEqual({ tasks: [], total: 0 })
      await store.admit(sketchIntake('m2', sketchTaskIntake(otherKey, 'other')), 'c')
      expect(await store.cancelTask(otherKey)).toBe(true)
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'submitted' })
      expect((await store.findTask(adasTask))?.entries).toHaveLength(1)
    }),
  )
}

function describeCancel(openStore: OpenStore): void {
  test(
    'cancelTask() ends an open task once, the store refuses a later commit, and its thread continues',
    withStore(openStore, async ({ store }) => {
      const { message } = await store.admit(sketchIntake('m1', sketchTaskIntake(adasTask)), 'c')
      await store.admit(sketchIntake('m2', sketchTaskIntake(adasTask)), 'c')
      await store.admit(sketchIntake('m3', sketchTaskIntake({ owner: 'ada', id: 'task 2' })), 'c')
      const notices: unknown[] = []
      store.listen(`message:${message}`, notice => notices.push(notice))
      const turn = await leaseOnlyTurn(store)
      expect(await Promise.all([store.cancelTask(adasTask), store.cancelTask(adasTask)])).toEqual([true, false])
      expect(notices).toEqual([{ kind: 'canceled' }])
      await expect(store.commit(turn, sketchAnswer(turn, 'late'))).rejects.toThrow(LeaseLost)
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'canceled', response: undefined })
      for (const id of ['m1', 'm2'])
        expect(await store.findMessage(id)).toMatchObject({ state: 'failed', error: 'canceled' })
      expect((await leaseTurns(store)).map(({ content }) => content.id)).toEqual(['m3'])
    }),
  )
  test(
    'cancelTask() of a waiting turn leaves the earlier turn with its worker',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', sketchTaskIntake({ owner: 'ada', id: 'task 2' })), 'c')
      await store.admit(sketchIntake('m2', sketchTaskIntake(adasTask)), 'c')
      const turn = await leaseOnlyTurn(store)
      expect(await store.cancelTask(adasTask)).toBe(true)
      expect(await leaseTurns(store)).toEqual([])
      await store.commit(turn, sayNothing())
      expect(await leaseTurns(store)).toEqual([])
    }),
  )
  test(
    'exactly one of cancelTask() and commit() wins',
    withStore(openStore, async ({ store }) => {
      for (let round = 0; round < 10; round++) {
        const key = { owner: 'ada', id: `task ${round}` }
        await store.admit(sketchIntake(`m${round}`, sketchTaskIntake(key, `ctx ${round}`)), 'c')
        const turn = await leaseOnlyTurn(store)
        const commit = () =>
          store.commit(turn, sketchAnswer(turn, 'done')).then(
            () => true,
            () => false,
          )
        const racers = [commit, () => store.cancelTask(key)]
        const won = await Promise.all((round % 2 ? racers : racers.toReversed()).map(race => race()))
        expect(won.filter(Boolean)).toHaveLength(1)
        const state = (await store.findTask(key))?.state
        expect(state).toBe(won[round % 2 ? 0 : 1] ? 'completed' : 'canceled')
      }
    }),
  )
  test(
    'cancelTask() ends a task that waits for input, but no ended task',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', sketchTaskIntake(adasTask)), 'c')
      await answerTask(store, 'which one?', 'input_required')
      expect(await store.cancelTask(adasTask)).toBe(true)
      expect(await store.cancelTask(adasTask)).toBe(false)
      await store.admit(sketchIntake('m2', sketchTaskIntake({ owner: 'ada', id: 'task 2' })), 'c')
      await answerTask(store, 'done')
      expect(await store.cancelTask({ owner: 'ada', id: 'task 2' })).toBe(false)
      expect(await store.cancelTask({ owner: 'ada', id: 'no such task' })).toBe(false)
    }),
  )
}

function describeList(openStore: OpenStore): void {
  test(
    'listTasks() filters, counts and pages, newest first',
    withStore(openStore, async ({ store, now, advance }) => {
      const startedAt = now()
      for (const [index, context] of ['red', 'blue', 'red', 'red'].entries()) {
        advance(1_000)
        await store.admit(
          sketchIntake(`m${index}`, sketchTaskIntake({ owner: 'ada', id: `task ${index}` }, `${context} ${index}`)),
          'c',
        )
      }
      const idsFor = async (filter: Partial<TaskFilter>) => {
        const { tasks, total } = await store.listTasks({ owner: 'ada', limit: 9, ...filter })
        return [tasks.map(({ id }) => id.replace('task ', '')).join(''), total]
      }
      expect(await idsFor({})).toEqual(['3210', 4])
      expect(await idsFor({ context: 'blue 1' })).toEqual(['1', 1])
      expect(await idsFor({ updatedSince: startedAt + 3_000 })).toEqual(['32', 2])
      expect(await idsFor({ agent: 'help' })).toEqual(['', 0])
      const { tasks } = await store.listTasks({ owner: 'ada', limit: 2 })
      const lastTask = tasks.at(-1)
      expect(await idsFor({ after: { updatedAt: lastTask?.updatedAt ?? 0, id: lastTask?.id ?? '' } })).toEqual([
        '10',
        4,
      ])
      advance(1_000)
      await store.cancelTask({ owner: 'ada', id: 'task 0' })
      expect(await idsFor({})).toEqual(['0321', 4])
      expect(await idsFor({ state: 'canceled' })).toEqual(['0', 1])
      expect(await idsFor({ state: 'submitted', limit: 1 })).toEqual(['3', 3])
    }),
  )
  test(
    'listTasks() pages through tasks updated in the same instant without losing one',
    withStore(openStore, async ({ store }) => {
      const keys = Array.from({ length: 5 }, (_, index) => ({ owner: 'ada', id: `task ${index}` }))
      await Promise.all(keys.map(key => store.admit(sketchIntake(key.id, sketchTaskIntake(key, key.id)), 'c')))
      const taskIds: string[] = []
      let cursor: TaskFilter['after']
      for (;;) {
        const { tasks } = await store.listTasks({ owner: 'ada', limit: 2, after: cursor })
        const lastTask = tasks.at(-1)
        if (!lastTask) break
        taskIds.push(...tasks.map(({ id }) => id))
        cursor = { updatedAt: lastTask.updatedAt, id: lastTask.id }
      }
      expect(taskIds.toSorted()).toEqual(keys.map(({ id }) => id))
    }),
  )
}
