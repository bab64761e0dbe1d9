// Tests that a store removes ended tasks by age, count and size.
import type { Store, TaskKey } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { adasTask, answerTask, sketchWatcher } from '../setup/task-sketches.ts'
import type { OpenStore } from '../setup/under-test.ts'
import { inThread, leaseDeliveries, leaseOnlyTurn, sketchAnswer, sketchIntake, withStore } from '../setup/under-test.ts'

export function describeExpiry(openStore: OpenStore): void {
  const limit = 100
  const admit = (store: Store, id: string, key: TaskKey, context = `ctx of ${id}`) =>
    store.admit(sketchIntake(id, inThread(context, { task: { ...key, context }, thread: { scope: key.owner } })), 'c')
  const asks = async (store: Store, id: string, key: TaskKey, context?: string) => {
    await admit(store, id, key, context)
    await answerTask(store, `answer to ${id}`)
  }
  const task = (id: string): TaskKey => ({ owner: 'ada', id })
  /** Admits all messages at once, so that a store writes them in few transactions. Many transactions would measure the disk. */
  const admitMany = (count: number, admitOne: (index: number) => Promise<unknown>) =>
    Promise.all(Array.from({ length: count }, (_, index) => admitOne(index)))

  test(
    'expireTasks() removes the tasks that ended before a time, with all their text',
    withStore(openStore, async ({ store, now, advance }) => {
      const countsBefore = await store.count()
      const blobs = [{ digest: 'b1', bytes: new Uint8Array([1]), mime: 'text/plain' }]
      const sketch = { ...inThread('ctx', { task: { ...adasTask, context: 'ctx', watch: sketchWatcher('a') } }), blobs }
      await store.admit(sketchIntake('m1', { ...sketch, thread: { scope: 'ada' } }), 'c')
      await store.admit(sketchIntake('m1', { ...sketch, thread: { scope: 'ada' } }), 'c')
      await answerTask(store, 'done')
      for (const delivery of await leaseDeliveries(store)) await store.settle(delivery, { state: 'sent' })
      advance(1_000)
      const createdAt = now()
      await asks(store, 'm2', task('task 2'))
      await asks(store, 'm3', task('task 3'))
      const { tasks } = await store.listTasks({ owner: adasTask.owner, limit })
      expect(await store.expireTasks({ unchangedSince: createdAt, limit })).toEqual({ removed: 1, isDone: true })
      // A task from an earlier list can still be read.
      expect(() => tasks.map(({ response, entries }) => [response, entries])).not.toThrow()
      expect(await store.findTask(adasTask)).toBeUndefined()
      expect(await store.findTask(task('task 2'))).toMatchObject({ state: 'completed', entries: [{}, {}] })
      expect(await store.findMessage('m1')).toBeUndefined()
      expect(await store.findResponse('answer to m1')).toBeUndefined()
      expect(await store.findBlob('b1')).toBeUndefined()
      expect(await store.listWatches(adasTask)).toEqual([])
      expect((await store.listMessages({ limit: 9 })).map(({ id }) => id)).toEqual(['m3', 'm2'])
      const { messages, deliveries } = await store.count()
      expect(messages).toEqual({ ...countsBefore.messages, answered: countsBefore.messages.answered + 2 })
      expect(deliveries).toEqual(countsBefore.deliveries)
    }),
  )
  test(
    'expireTasks() keeps chats of people of any age',
    withStore(openStore, async ({ store, now, advance }) => {
      const chat = { owner: 'web:["https://login.test","ada"]', id: 'run 1' }
      for (const [id, key] of Object.entries({ m1: chat, m2: task('old'), m3: task('newest') }))
        await asks(store, id, key)
      advance(1_000)
      expect(await store.expireTasks({ unchangedSince: now(), limit })).toEqual({ removed: 1, isDone: true })
      expect(await store.findTask(chat)).toMatchObject({ entries: [{}, {}] })
      expect(await store.findTask(task('old'))).toBeUndefined()
    }),
  )
  test(
    'expireTasks() leaves open tasks, pending notifications, and the number of the newest entry',
    withStore(openStore, async ({ store, now, advance }) => {
      await admit(store, 'm1', task('open'))
      const key = { ...task('told'), context: 'told', watch: sketchWatcher('a') }
      const turn = await leaseOnlyTurn(store)
      await store.admit(sketchIntake('m2', inThread('told', { task: key })), 'c')
      await answerTask(store, 'done')
      await asks(store, 'm3', task('newest'))
      advance(1_000)
      expect(await store.expireTasks({ unchangedSince: now(), limit })).toEqual({ removed: 0, isDone: true })
      await store.commit(turn, sketchAnswer(turn, 'at last'))
      const [delivery] = await leaseDeliveries(store)
      if (delivery) await store.settle(delivery, { state: 'dead', reason: 'refused', error: 'gone' })
      advance(1_000)
      expect(await store.expireTasks({ unchangedSince: now(), limit })).toEqual({ removed: 2, isDone: true })
      expect(await store.findTask(task('open'))).toMatchObject({ state: 'completed' })
    }),
  )
  test(
    'expireTasks() removes abandoned questions, and a new task can begin afterwards',
    withStore(openStore, async ({ store, now, advance }) => {
      await admit(store, 'm1', adasTask)
      await answerTask(store, 'which one?', 'input_required')
      await asks(store, 'm2', task('task 2'))
      advance(1_000)
      expect((await store.expireTasks({ unchangedSince: now(), limit })).removed).toBe(1)
      expect((await admit(store, 'm3', adasTask)).outcome).toBe('accepted')
      await answerTask(store, 'done')
      expect(await store.findTask(adasTask)).toMatchObject({ state: 'completed', entries: [{}, {}] })
    }),
  )
  test(
    'expireTasks() lets a conversation continue without its older tasks',
    withStore(openStore, async ({ store, now, advance }) => {
      await asks(store, 'm1', task('task 1'), 'ctx')
      advance(1_000)
      await asks(store, 'm2', task('task 2'), 'ctx')
      await store.expireTasks({ unchangedSince: now(), limit })
      await admit(store, 'm3', task('task 3'), 'ctx')
      const { thread, message } = await leaseOnlyTurn(store)
      const history = await store.readHistory({ thread, beforeMessage: message, head: 9, tail: 9 })
      expect(history.map(({ nativeId }) => nativeId)).toEqual(['m2', 'answer to m2'])
    }),
  )
  test(
    'expireTasks() works in batches, several for a task of many messages',
    withStore(openStore, async ({ store, now, advance }) => {
      await admitMany(120, index => admit(store, `long ${index}`, task('long'), 'long'))
      await store.cancelTask(task('long'))
      advance(1)
      for (let index = 0; index < 3; index += 1) await asks(store, `m${index}`, task(`task ${index}`))
      await asks(store, 'last', task('last'))
      advance(1_000)
      const slices: unknown[] = []
      for (let isDone = false; !isDone; ) {
        const slice = await store.expireTasks({ unchangedSince: now(), limit: 2 })
        slices.push(slice.removed)
        isDone = slice.isDone
      }
      expect(slices).toEqual([0, 0, 2, 2, 0])
      expect((await store.listTasks({ owner: 'ada', limit: 9 })).tasks.map(({ id }) => id)).toEqual(['last'])
    }),
  )
  test(
    'a task that expireTasks() has partly removed shows no answer any more',
    withStore(openStore, async ({ store, now, advance }) => {
      await admit(store, 'long', task('long'), 'long')
      await answerTask(store, 'answer', 'input_required')
      await admitMany(50, index => admit(store, `long ${index}`, task('long'), 'long'))
      await store.cancelTask(task('long'))
      await asks(store, 'last', task('last'))
      expect(await store.findTask(task('long'))).toMatchObject({ response: { in_reply_to: 'long' } })
      advance(1_000)
      expect(await store.expireTasks({ unchangedSince: now(), limit: 2 })).toEqual({ removed: 0, isDone: false })
      expect((await store.findTask(task('long')))?.state).toBe('canceled')
      expect((await store.findTask(task('long')))?.response).toBeUndefined()
      expect(await store.expireTasks({ unchangedSince: now(), limit: 2 })).toEqual({ removed: 1, isDone: true })
    }),
  )
  test(
    'expireTasks() of an owner keeps the newest',
    withStore(openStore, async ({ store, advance }) => {
      await asks(store, 'm0', { owner: 'bob', id: 'task 0' })
      for (let index = 1; index <= 5; index += 1) {
        advance(1_000)
        await asks(store, `m${index}`, task(`task ${index}`))
      }
      expect(await store.expireTasks({ owner: 'ada', maxTasks: 3, limit })).toEqual({ removed: 2, isDone: true })
      const { tasks } = await store.listTasks({ owner: 'ada', limit: 9 })
      expect(tasks.map(({ id }) => id)).toEqual(['task 5', 'task 4', 'task 3'])
      expect(await store.findTask({ owner: 'bob', id: 'task 0' })).toBeDefined()
    }),
  )
  test(
    'expireTasks() leaves an owner at most the given bytes, attachments included, and removes the oldest tasks first',
    withStore(openStore, async ({ store, now, advance }) => {
      const large = async (index: number, owner = 'ada') => {
        advance(1_000)
        const key = { owner, id: `task ${index}`, context: `ctx ${index}` }
        const bytes = new Uint8Array(100_000).fill(index)
        const blobs = [{ digest: `${owner} ${index}`, bytes, mime: 'image/png' }]
        await store.admit(sketchIntake(`${owner} ${index}`, { ...inThread(key.context, { task: key }), blobs }), 'c')
        await answerTask(store, `seen ${index}`)
      }
      await large(0, 'bob')
      for (let index = 1; index <= 5; index += 1) await large(index)
      expect(await store.expireTasks({ owner: 'ada', maxBytes: 1_000_000, limit })).toEqual({
        removed: 0,
        isDone: true,
      })
      // The limit leaves room for three of five attachments with their texts.
      expect(await store.expireTasks({ owner: 'ada', maxBytes: 320_000, limit })).toEqual({ removed: 2, isDone: true })
      const listIds = async () => (await store.listTasks({ owner: 'ada', limit: 9 })).tasks.map(({ id }) => id)
      expect(await listIds()).toEqual(['task 5', 'task 4', 'task 3'])
      expect(await store.findTask({ owner: 'bob', id: 'task 0' })).toBeDefined()
      // Removed tasks no longer count, whatever removed them.
      expect((await store.expireTasks({ unchangedSince: now() - 500, limit })).removed).toBe(3)
      for (let index = 6; index <= 7; index += 1) await large(index)
      expect(await store.expireTasks({ owner: 'ada', maxBytes: 320_000, limit })).toEqual({ removed: 0, isDone: true })
      expect(await listIds()).toEqual(['task 7', 'task 6', 'task 5'])
    }),
  )
  test(
    'expireTasks() counts the answers too, and removes no open task',
    withStore(openStore, async ({ store, advance }) => {
      await store.admit(sketchIntake('m1', inThread('ctx', { task: { ...adasTask, context: 'ctx' } })), 'c')
      await answerTask(store, 'x'.repeat(50_000))
      advance(1_000)
      await admit(store, 'm2', task('open'))
      expect((await store.expireTasks({ owner: 'ada', maxBytes: 60_000, limit })).removed).toBe(0)
      expect(await store.expireTasks({ owner: 'ada', maxBytes: 40_000, limit })).toEqual({ removed: 1, isDone: true })
      expect(await store.expireTasks({ owner: 'ada', maxBytes: 1, limit })).toEqual({ removed: 0, isDone: true })
      expect(await store.findTask(task('open'))).toMatchObject({ state: 'submitted' })
    }),
  )
}
