import type { Desk, TaskFilter, TaskKey } from '@postern/core'
import { LeaseLost } from '@postern/core'
import { describe, expect, test } from 'vitest'
import type { IntakeSketch, OpenDesk } from './under-test.ts'
import {
  inThread,
  leaseDeliveries,
  leaseOnlyTurn,
  leaseTurns,
  sayNothing,
  sketchAnswer,
  sketchIntake,
  sketchResponse,
  withDesk,
} from './under-test.ts'

export function taskContract(open: OpenDesk): void {
  describe('tasks', () => {
    describeLife(open)
    describeOwners(open)
    describeCancel(open)
    describeList(open)
    describeWatches(open)
    describeMost(open)
    describeExpiry(open)
  })
}

const mine: TaskKey = { owner: 'ada', id: 'task 1' }

function ofTask(key: TaskKey, context = 'ctx'): IntakeSketch {
  return inThread(context, { task: { ...key, context } })
}

async function answerTask(desk: Desk, text: string, status: 'completed' | 'input_required' | 'working' = 'completed') {
  const turn = await leaseOnlyTurn(desk)
  await desk.commit(turn, { response: sketchResponse(turn, text, status), deliveries: [] })
  return turn
}

function describeLife(open: OpenDesk): void {
  test(
    'a task is submitted, working, and then what its answer says; it holds all that was said',
    withDesk(open, async ({ desk, now, advance }) => {
      const admitted = await desk.admit(sketchIntake('m1', ofTask(mine)), 'c')
      expect(admitted.task).toEqual(mine)
      expect(await desk.findTask(mine)).toMatchObject({ ...mine, agent: 'echo', context: 'ctx', state: 'submitted' })
      advance(10)
      const turn = await leaseOnlyTurn(desk)
      expect(turn.task).toEqual(mine)
      expect(await desk.findTask(mine)).toMatchObject({ state: 'working', updatedAt: now() })
      await desk.commit(turn, { response: sketchResponse(turn, 'which one?', 'input_required'), deliveries: [] })
      expect(await desk.findTask(mine)).toMatchObject({ state: 'input_required' })
      await desk.admit(sketchIntake('m2', ofTask(mine)), 'c')
      expect(await desk.findTask(mine)).toMatchObject({ state: 'submitted' })
      await answerTask(desk, 'that one')
      const task = await desk.findTask(mine)
      expect(task).toMatchObject({
        state: 'completed',
        response: { id: 'answer to m2', parts: [{ content: 'that one' }] },
      })
      expect(task?.entries.map(({ nativeId }) => nativeId)).toEqual(['m1', 'answer to m1', 'm2', 'answer to m2'])
    }),
  )
  test(
    'an agent that says nothing completes its task',
    withDesk(open, async ({ desk }) => {
      await desk.admit(sketchIntake('m1', ofTask(mine)), 'c')
      await desk.commit(await leaseOnlyTurn(desk), sayNothing())
      expect(await desk.findTask(mine)).toMatchObject({ state: 'completed', response: undefined })
    }),
  )
  test(
    'a task that has ended takes no more messages, but still knows the ones it had',
    withDesk(open, async ({ desk }) => {
      const first = await desk.admit(sketchIntake('m1', ofTask(mine)), 'c')
      await answerTask(desk, 'done')
      const refusal = { code: 'unsupported', message: 'Cannot continue task: it has ended' }
      await expect(desk.admit(sketchIntake('m2', ofTask(mine)), 'c')).rejects.toMatchObject(refusal)
      expect(await desk.findMessage('m2')).toBeUndefined()
      const again = await desk.admit(sketchIntake('m1', ofTask(mine)), 'c')
      expect(again).toEqual({ outcome: 'duplicate', message: first.message, task: mine })
    }),
  )
  test(
    'a task ends with the last of its turns',
    withDesk(open, async ({ desk }) => {
      await desk.admit(sketchIntake('m1', ofTask(mine)), 'c')
      await desk.admit(sketchIntake('m2', ofTask(mine)), 'c')
      await answerTask(desk, 'first')
      expect(await desk.findTask(mine)).toMatchObject({ state: 'submitted', response: { id: 'answer to m1' } })
      await answerTask(desk, 'second')
      expect(await desk.findTask(mine)).toMatchObject({ state: 'completed', response: { id: 'answer to m2' } })
    }),
  )
}

function describeOwners(open: OpenDesk): void {
  test(
    "another owner's task does not exist",
    withDesk(open, async ({ desk }) => {
      const theirs = { owner: 'bob', id: mine.id }
      await desk.admit(sketchIntake('m1', ofTask(mine)), 'c')
      expect(await desk.findTask(theirs)).toBeUndefined()
      expect(await desk.cancelTask(theirs)).toBe(false)
      expect(await desk.listTasks({ owner: 'bob', limit: 9 })).toEqual({ tasks: [], total: 0 })
      await desk.admit(sketchIntake('m2', ofTask(theirs, 'other')), 'c')
      expect(await desk.cancelTask(theirs)).toBe(true)
      expect(await desk.findTask(mine)).toMatchObject({ state: 'submitted' })
      expect((await desk.findTask(mine))?.entries).toHaveLength(1)
    }),
  )
}

function describeCancel(open: OpenDesk): void {
  test(
    'cancelTask() ends an open task once; a later commit for it is refused and its thread goes on',
    withDesk(open, async ({ desk }) => {
      const { message } = await desk.admit(sketchIntake('m1', ofTask(mine)), 'c')
      await desk.admit(sketchIntake('m2', ofTask(mine)), 'c')
      await desk.admit(sketchIntake('m3', ofTask({ owner: 'ada', id: 'task 2' })), 'c')
      const notices: unknown[] = []
      desk.listen(`message:${message}`, notice => notices.push(notice))
      const turn = await leaseOnlyTurn(desk)
      expect(await Promise.all([desk.cancelTask(mine), desk.cancelTask(mine)])).toEqual([true, false])
      expect(notices).toEqual([{ kind: 'canceled' }])
      await expect(desk.commit(turn, sketchAnswer(turn, 'late'))).rejects.toThrow(LeaseLost)
      expect(await desk.findTask(mine)).toMatchObject({ state: 'canceled', response: undefined })
      for (const id of ['m1', 'm2'])
        expect(await desk.findMessage(id)).toMatchObject({ state: 'failed', error: 'canceled' })
      expect((await leaseTurns(desk)).map(({ content }) => content.id)).toEqual(['m3'])
    }),
  )
  test(
    'cancelTask() of a waiting turn leaves the one before it with who works on it',
    withDesk(open, async ({ desk }) => {
      await desk.admit(sketchIntake('m1', ofTask({ owner: 'ada', id: 'task 2' })), 'c')
      await desk.admit(sketchIntake('m2', ofTask(mine)), 'c')
      const turn = await leaseOnlyTurn(desk)
      expect(await desk.cancelTask(mine)).toBe(true)
      expect(await leaseTurns(desk)).toEqual([])
      await desk.commit(turn, sayNothing())
      expect(await leaseTurns(desk)).toEqual([])
    }),
  )
  test(
    'of cancelTask() and commit() exactly one wins',
    withDesk(open, async ({ desk }) => {
      for (let round = 0; round < 10; round++) {
        const key = { owner: 'ada', id: `task ${round}` }
        await desk.admit(sketchIntake(`m${round}`, ofTask(key, `ctx ${round}`)), 'c')
        const turn = await leaseOnlyTurn(desk)
        const commit = () =>
          desk.commit(turn, sketchAnswer(turn, 'done')).then(
            () => true,
            () => false,
          )
        const racers = [commit, () => desk.cancelTask(key)]
        const won = await Promise.all((round % 2 ? racers : racers.toReversed()).map(race => race()))
        expect(won.filter(Boolean)).toHaveLength(1)
        const state = (await desk.findTask(key))?.state
        expect(state).toBe(won[round % 2 ? 0 : 1] ? 'completed' : 'canceled')
      }
    }),
  )
  test(
    'cancelTask() ends a task that waits for input, and none that has ended',
    withDesk(open, async ({ desk }) => {
      await desk.admit(sketchIntake('m1', ofTask(mine)), 'c')
      await answerTask(desk, 'which one?', 'input_required')
      expect(await desk.cancelTask(mine)).toBe(true)
      expect(await desk.cancelTask(mine)).toBe(false)
      await desk.admit(sketchIntake('m2', ofTask({ owner: 'ada', id: 'task 2' })), 'c')
      await answerTask(desk, 'done')
      expect(await desk.cancelTask({ owner: 'ada', id: 'task 2' })).toBe(false)
      expect(await desk.cancelTask({ owner: 'ada', id: 'no such task' })).toBe(false)
    }),
  )
}

function describeList(open: OpenDesk): void {
  test(
    'listTasks() filters, counts and pages, newest first',
    withDesk(open, async ({ desk, now, advance }) => {
      const begun = now()
      for (const [index, context] of ['red', 'blue', 'red', 'red'].entries()) {
        advance(1_000)
        await desk.admit(
          sketchIntake(`m${index}`, ofTask({ owner: 'ada', id: `task ${index}` }, `${context} ${index}`)),
          'c',
        )
      }
      const idsFor = async (filter: Partial<TaskFilter>) => {
        const { tasks, total } = await desk.listTasks({ owner: 'ada', limit: 9, ...filter })
        return [tasks.map(({ id }) => id.replace('task ', '')).join(''), total]
      }
      expect(await idsFor({})).toEqual(['3210', 4])
      expect(await idsFor({ context: 'blue 1' })).toEqual(['1', 1])
      expect(await idsFor({ updatedSince: begun + 3_000 })).toEqual(['32', 2])
      expect(await idsFor({ agent: 'help' })).toEqual(['', 0])
      const { tasks } = await desk.listTasks({ owner: 'ada', limit: 2 })
      const last = tasks.at(-1)
      expect(await idsFor({ after: { updatedAt: last?.updatedAt ?? 0, id: last?.id ?? '' } })).toEqual(['10', 4])
      advance(1_000)
      await desk.cancelTask({ owner: 'ada', id: 'task 0' })
      expect(await idsFor({})).toEqual(['0321', 4])
      expect(await idsFor({ state: 'canceled' })).toEqual(['0', 1])
      expect(await idsFor({ state: 'submitted', limit: 1 })).toEqual(['3', 3])
    }),
  )
  test(
    'listTasks() pages through tasks updated in the same instant without losing one',
    withDesk(open, async ({ desk }) => {
      const keys = Array.from({ length: 5 }, (_, index) => ({ owner: 'ada', id: `task ${index}` }))
      await Promise.all(keys.map(key => desk.admit(sketchIntake(key.id, ofTask(key, key.id)), 'c')))
      const seen: string[] = []
      let after: TaskFilter['after']
      for (;;) {
        const { tasks } = await desk.listTasks({ owner: 'ada', limit: 2, after })
        const last = tasks.at(-1)
        if (!last) break
        seen.push(...tasks.map(({ id }) => id))
        after = { updatedAt: last.updatedAt, id: last.id }
      }
      expect(seen.toSorted()).toEqual(keys.map(({ id }) => id))
    }),
  )
}

const watch = (id: string) => ({ id, to: `https://hook.test/#${id}`, target: { secret: id } })

function describeWatches(open: OpenDesk): void {
  test(
    'who watches a task is told, in order, when a turn has ended and when it is canceled',
    withDesk(open, async ({ desk, now }) => {
      const task = { ...mine, context: 'ctx', watch: watch('a') }
      await desk.admit(sketchIntake('m1', inThread('ctx', { task })), 'c')
      expect(await desk.watchTask(mine, watch('b'))).toBe('watching')
      await answerTask(desk, 'which one?', 'input_required')
      expect(await desk.cancelTask(mine)).toBe(true)
      const told = async () =>
        (await leaseDeliveries(desk)).map(({ to, target, response }) => [to, target, response?.id])
      const about = (id: string, state: string) => ({ watch: id, ...mine, context: 'ctx', state, at: now() })
      const first = await leaseDeliveries(desk)
      expect(first.map(({ to, target, response }) => [to, target, response?.id])).toEqual([
        ['https://hook.test/#a', about('a', 'input_required'), 'answer to m1'],
        ['https://hook.test/#b', about('b', 'input_required'), 'answer to m1'],
      ])
      for (const delivery of first) await desk.settle(delivery, { state: 'sent' })
      expect(await told()).toEqual([
        ['https://hook.test/#a', about('a', 'canceled'), undefined],
        ['https://hook.test/#b', about('b', 'canceled'), undefined],
      ])
    }),
  )
  test(
    'a watch is replaced by one of its id, and ended; nobody is told any more then',
    withDesk(open, async ({ desk }) => {
      await desk.admit(sketchIntake('m1', ofTask(mine)), 'c')
      await desk.watchTask(mine, watch('a'))
      await desk.watchTask(mine, { ...watch('a'), target: { secret: 'new' } })
      await desk.watchTask(mine, watch('b'))
      expect(await desk.listWatches(mine)).toEqual([{ ...watch('a'), target: { secret: 'new' } }, watch('b')])
      await desk.endWatch(mine, 'a')
      await desk.endWatch(mine, 'a')
      await answerTask(desk, 'done')
      expect((await leaseDeliveries(desk)).map(({ to }) => to)).toEqual(['https://hook.test/#b'])
    }),
  )
  test(
    "no more than ten watch a task, and nobody another owner's",
    withDesk(open, async ({ desk }) => {
      await desk.admit(sketchIntake('m1', ofTask(mine)), 'c')
      const outcomes: string[] = []
      for (let at = 0; at < 12; at += 1) outcomes.push(await desk.watchTask(mine, watch(String(at))))
      expect(outcomes).toEqual([...Array(10).fill('watching'), 'full', 'full'])
      expect(await desk.watchTask(mine, watch('3'))).toBe('watching')
      const theirs = { owner: 'bob', id: mine.id }
      expect(await desk.watchTask(theirs, watch('x'))).toBe('unknown')
      expect(await desk.listWatches(theirs)).toEqual([])
      await desk.endWatch(theirs, '3')
      expect(await desk.listWatches(mine)).toHaveLength(10)
    }),
  )
}

function describeMost(open: OpenDesk): void {
  test(
    'an owner has no more open tasks than he may; one that has ended makes room, and open ones go on',
    withDesk(open, async ({ desk }) => {
      const task = (id: string, owner = 'ada') => ({ owner, id, context: id, most: 2 })
      const admit = (id: string, of: ReturnType<typeof task>) =>
        desk.admit(sketchIntake(id, inThread(of.context, { task: of })), 'c')
      await admit('m1', task('1'))
      await admit('m2', task('2'))
      const refusal = { code: 'rate_limited', message: 'Cannot open task: too many are open' }
      await expect(admit('m3', task('3'))).rejects.toMatchObject(refusal)
      await admit('m4', task('2'))
      await admit('m5', task('1', 'bob'))
      await desk.cancelTask({ owner: 'ada', id: '1' })
      await admit('m6', task('3'))
    }),
  )
}

function describeExpiry(open: OpenDesk): void {
  const limit = 100
  const admit = (desk: Desk, id: string, key: TaskKey, context = `ctx of ${id}`) =>
    desk.admit(sketchIntake(id, inThread(context, { task: { ...key, context }, thread: { scope: key.owner } })), 'c')
  const asks = async (desk: Desk, id: string, key: TaskKey, context?: string) => {
    await admit(desk, id, key, context)
    await answerTask(desk, `answer to ${id}`)
  }
  const task = (id: string): TaskKey => ({ owner: 'ada', id })

  test(
    'expireTasks() takes out what has ended before a time, with all that was said in it',
    withDesk(open, async ({ desk, now, advance }) => {
      const before = await desk.count()
      const blobs = [{ digest: 'b1', bytes: new Uint8Array([1]), mime: 'text/plain' }]
      const sketch = { ...inThread('ctx', { task: { ...mine, context: 'ctx', watch: watch('a') } }), blobs }
      await desk.admit(sketchIntake('m1', { ...sketch, thread: { scope: 'ada' } }), 'c')
      await desk.admit(sketchIntake('m1', { ...sketch, thread: { scope: 'ada' } }), 'c')
      await answerTask(desk, 'done')
      for (const delivery of await leaseDeliveries(desk)) await desk.settle(delivery, { state: 'sent' })
      advance(1_000)
      const since = now()
      await asks(desk, 'm2', task('task 2'))
      await asks(desk, 'm3', task('task 3'))
      const { tasks } = await desk.listTasks({ owner: mine.owner, limit })
      expect(await desk.expireTasks({ before: since, limit })).toEqual({ removed: 1, isDone: true })
      // Who listed it before may look at it still.
      expect(() => tasks.map(({ response, entries }) => [response, entries])).not.toThrow()
      expect(await desk.findTask(mine)).toBeUndefined()
      expect(await desk.findTask(task('task 2'))).toMatchObject({ state: 'completed', entries: [{}, {}] })
      expect(await desk.findMessage('m1')).toBeUndefined()
      expect(await desk.findResponse('answer to m1')).toBeUndefined()
      expect(await desk.findBlob('b1')).toBeUndefined()
      expect(await desk.listWatches(mine)).toEqual([])
      expect((await desk.listMessages({ limit: 9 })).map(({ id }) => id)).toEqual(['m3', 'm2'])
      const { messages, deliveries } = await desk.count()
      expect(messages).toEqual({ ...before.messages, answered: before.messages.answered + 2 })
      expect(deliveries).toEqual(before.deliveries)
    }),
  )
  test(
    'expireTasks() leaves what is open, what is still to be told, and the number of the newest entry',
    withDesk(open, async ({ desk, now, advance }) => {
      await admit(desk, 'm1', task('open'))
      const key = { ...task('told'), context: 'told', watch: watch('a') }
      const turn = await leaseOnlyTurn(desk)
      await desk.admit(sketchIntake('m2', inThread('told', { task: key })), 'c')
      await answerTask(desk, 'done')
      await asks(desk, 'm3', task('newest'))
      advance(1_000)
      expect(await desk.expireTasks({ before: now(), limit })).toEqual({ removed: 0, isDone: true })
      await desk.commit(turn, sketchAnswer(turn, 'at last'))
      const [delivery] = await leaseDeliveries(desk)
      if (delivery) await desk.settle(delivery, { state: 'dead', error: 'gone' })
      advance(1_000)
      expect(await desk.expireTasks({ before: now(), limit })).toEqual({ removed: 2, isDone: true })
      expect(await desk.findTask(task('open'))).toMatchObject({ state: 'completed' })
    }),
  )
  test(
    'expireTasks() takes abandoned questions; a task can be begun anew afterwards',
    withDesk(open, async ({ desk, now, advance }) => {
      await admit(desk, 'm1', mine)
      await answerTask(desk, 'which one?', 'input_required')
      await asks(desk, 'm2', task('task 2'))
      advance(1_000)
      expect((await desk.expireTasks({ before: now(), limit })).removed).toBe(1)
      expect((await admit(desk, 'm1', mine)).outcome).toBe('accepted')
      await answerTask(desk, 'done')
      expect(await desk.findTask(mine)).toMatchObject({ state: 'completed', entries: [{}, {}] })
    }),
  )
  test(
    'expireTasks() lets a conversation go on that lost its older tasks',
    withDesk(open, async ({ desk, now, advance }) => {
      await asks(desk, 'm1', task('task 1'), 'ctx')
      advance(1_000)
      await asks(desk, 'm2', task('task 2'), 'ctx')
      await desk.expireTasks({ before: now(), limit })
      await admit(desk, 'm3', task('task 3'), 'ctx')
      const { thread, message } = await leaseOnlyTurn(desk)
      const history = await desk.readHistory({ thread, before: message, head: 9, tail: 9 })
      expect(history.map(({ nativeId }) => nativeId)).toEqual(['m2', 'answer to m2'])
    }),
  )
  test(
    'expireTasks() goes by slices, and through a task of many messages in several',
    withDesk(open, async ({ desk, now, advance }) => {
      for (let at = 0; at < 450; at += 1) await admit(desk, `long ${at}`, task('long'), 'long')
      await desk.cancelTask(task('long'))
      for (let at = 0; at < 3; at += 1) await asks(desk, `m${at}`, task(`task ${at}`))
      await asks(desk, 'last', task('last'))
      advance(1_000)
      const slices: unknown[] = []
      for (let isDone = false; !isDone; ) {
        const slice = await desk.expireTasks({ before: now(), limit: 2 })
        slices.push(slice.removed)
        isDone = slice.isDone
      }
      expect(slices).toEqual([0, 0, 2, 2, 0])
      expect((await desk.listTasks({ owner: 'ada', limit: 9 })).tasks.map(({ id }) => id)).toEqual(['last'])
    }),
  )
  test(
    'expireTasks() of an owner keeps the newest',
    withDesk(open, async ({ desk, advance }) => {
      await asks(desk, 'm0', { owner: 'bob', id: 'task 0' })
      for (let at = 1; at <= 5; at += 1) {
        advance(1_000)
        await asks(desk, `m${at}`, task(`task ${at}`))
      }
      expect(await desk.expireTasks({ owner: 'ada', most: 3, limit })).toEqual({ removed: 2, isDone: true })
      const { tasks } = await desk.listTasks({ owner: 'ada', limit: 9 })
      expect(tasks.map(({ id }) => id)).toEqual(['task 5', 'task 4', 'task 3'])
      expect(await desk.findTask({ owner: 'bob', id: 'task 0' })).toBeDefined()
    }),
  )
}
