// Tests that a store notifies the watchers of a task of each change.
import { findShareGroup } from '@postern/message'
import { expect, test } from 'vitest'
import { adasTask, answerTask, sketchTaskIntake, sketchWatcher } from '../setup/task-sketches.ts'
import type { OpenStore } from '../setup/under-test.ts'
import { inThread, leaseDeliveries, sketchIntake, withStore } from '../setup/under-test.ts'

export function describeWatches(openStore: OpenStore): void {
  test(
    'a watcher of a task learns in order when a turn ends and when somebody cancels it',
    withStore(openStore, async ({ store, now }) => {
      const task = { ...adasTask, context: 'ctx', watch: sketchWatcher('a') }
      await store.admit(sketchIntake('m1', inThread('ctx', { task })), 'c')
      expect(await store.watchTask(adasTask, sketchWatcher('b'))).toBe('watching')
      await answerTask(store, 'which one?', 'input_required')
      expect(await store.cancelTask(adasTask)).toBe(true)
      const listTargets = async () =>
        (await leaseDeliveries(store)).map(({ to, target, response }) => [to, target, response?.id])
      const taskState = (id: string, state: string) => ({ watch: id, ...adasTask, context: 'ctx', state, at: now() })
      const firstDelivery = await leaseDeliveries(store)
      expect(firstDelivery.map(({ to, target, response }) => [to, target, response?.id])).toEqual([
        ['https://hook.test/#a', taskState('a', 'input_required'), 'answer to m1'],
        ['https://hook.test/#b', taskState('b', 'input_required'), 'answer to m1'],
      ])
      for (const delivery of firstDelivery) await store.settle(delivery, { state: 'sent' })
      expect(await listTargets()).toEqual([
        ['https://hook.test/#a', taskState('a', 'canceled'), undefined],
        ['https://hook.test/#b', taskState('b', 'canceled'), undefined],
      ])
    }),
  )
  test(
    'URLs of one caller have one share for any number of hosts, separately from other callers',
    withStore(openStore, async ({ store }) => {
      const keys = ['ann', 'bob'].map(owner => ({ owner, id: `of ${owner}` }))
      for (const { owner, id } of keys) {
        await store.admit(sketchIntake(`m ${owner}`, sketchTaskIntake({ owner, id })), 'c')
        for (const index of [1, 2, 3, 4])
          await store.watchTask({ owner, id }, { ...sketchWatcher(`${index}`), to: `https://${owner}${index}.test/` })
        await answerTask(store, 'done')
      }
      const groupOf = (owner: string) => findShareGroup({ to: '', target: { watch: 'w', owner } }) ?? ''
      expect(groupOf('ann')).not.toBe(groupOf('bob'))
      const maxOf = new Map([
        [groupOf('ann'), 2],
        [groupOf('bob'), 3],
      ])
      const shares = { maxPerGroup: 8, maxByGroup: maxOf, usedByGroup: new Map() }
      const deliveries = await store.leaseDeliveries({
        holder: 'w',
        limit: 100,
        leaseMs: 60_000,
        rank: 'answer',
        shares,
      })
      expect(deliveries.map(({ to }) => to)).toEqual(
        ['ann1', 'ann2', 'bob1', 'bob2', 'bob3'].map(name => `https://${name}.test/`),
      )
      expect((await store.listWaitingHosts(20)).map(({ host }) => host).toSorted()).toEqual(
        keys.flatMap(({ owner }) => [1, 2, 3, 4].map(index => `${owner}${index}.test`)),
      )
    }),
  )
  test(
    'a new watch replaces the one with the same id, and an ended watch gets nothing more',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', sketchTaskIntake(adasTask)), 'c')
      await store.watchTask(adasTask, sketchWatcher('a'))
      await store.watchTask(adasTask, { ...sketchWatcher('a'), target: { secret: 'new' } })
      await store.watchTask(adasTask, sketchWatcher('b'))
      expect(await store.listWatches(adasTask)).toEqual([
        { ...sketchWatcher('a'), target: { secret: 'new' } },
        sketchWatcher('b'),
      ])
      await store.endWatch(adasTask, 'a')
      await store.endWatch(adasTask, 'a')
      await answerTask(store, 'done')
      expect((await leaseDeliveries(store)).map(({ to }) => to)).toEqual(['https://hook.test/#b'])
    }),
  )
  test(
    'at most ten watch a task, and nobody can watch another owner’s',
    withStore(openStore, async ({ store }) => {
      await store.admit(sketchIntake('m1', sketchTaskIntake(adasTask)), 'c')
      const outcomes: string[] = []
      for (let index = 0; index < 12; index += 1)
        outcomes.push(await store.watchTask(adasTask, sketchWatcher(String(index))))
      expect(outcomes).toEqual([...Array(10).fill('watching'), 'full', 'full'])
      expect(await store.watchTask(adasTask, sketchWatcher('3'))).toBe('watching')
      const otherKey = { owner: 'bob', id: adasTask.id }
      expect(await store.watchTask(otherKey, sketchWatcher('x'))).toBe('unknown')
      expect(await store.listWatches(otherKey)).toEqual([])
      await store.endWatch(otherKey, '3')
      expect(await store.listWatches(adasTask)).toHaveLength(10)
    }),
  )
}

export function describeMost(openStore: OpenStore): void {
  test(
    'an owner has a limited number of open tasks, and an ended one frees its slot',
    withStore(openStore, async ({ store }) => {
      const task = (id: string, owner = 'ada') => ({ owner, id, context: id, maxOpenTasks: 2 })
      const admit = (id: string, taskOptions: ReturnType<typeof task>) =>
        store.admit(sketchIntake(id, inThread(taskOptions.context, { task: taskOptions })), 'c')
      await admit('m1', task('1'))
      await admit('m2', task('2'))
      const refusal = { code: 'rate_limited', message: 'Cannot open task: too many are open' }
      await expect(admit('m3', task('3'))).rejects.toMatchObject(refusal)
      await admit('m4', task('2'))
      await admit('m5', task('1', 'bob'))
      await store.cancelTask({ owner: 'ada', id: '1' })
      await admit('m6', task('3'))
    }),
  )
  test(
    'each of many callers under one owner has a limit of open tasks, within the owner’s limit',
    withStore(openStore, async ({ store }) => {
      const task = (id: string, name: string) => ({
        owner: 'anybody',
        id,
        context: id,
        maxOpenTasks: 3,
        share: { name, maxOpenTasks: 2 },
      })
      const admit = (id: string, taskOptions: ReturnType<typeof task>) =>
        store.admit(sketchIntake(id, inThread(taskOptions.context, { task: taskOptions })), 'c')
      const refusal = { code: 'rate_limited', message: 'Cannot open task: too many are open' }
      await admit('m1', task('1', 'here'))
      await admit('m2', task('2', 'here'))
      await expect(admit('m3', task('3', 'here'))).rejects.toMatchObject(refusal)
      await admit('m4', task('4', 'there'))
      await expect(admit('m5', task('5', 'elsewhere'))).rejects.toMatchObject(refusal)
      await store.cancelTask({ owner: 'anybody', id: '1' })
      await admit('m6', task('6', 'here'))
    }),
  )
}
