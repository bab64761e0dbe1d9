import { Unavailable } from '@postern/message'
import { expect, test, vi } from 'vitest'
import { defineLazyMembers } from '../sql/lazy-members.ts'
import { endedWith, runNow } from '../sql/operation.ts'
import { createStoreCalls } from './store-calls.ts'

/** Collects the timers that `act` sets before it returns. Fake timers would also run those of other parts of the process. */
function collectTimers<Result>(act: () => Result) {
  const spy = vi.spyOn(globalThis, 'setTimeout')
  const result = act()
  const timers = spy.mock.calls.map(([run, ms]) => ({ run, ms }))
  spy.mockRestore()
  return { result, timers }
}

function openCalls(methods: Readonly<Record<string, (...args: never[]) => unknown>>) {
  const calls = createStoreCalls({ read: async operation => runNow(operation()) })
  return { calls, store: calls.wrap(methods) }
}

test('a result has its lazy members loaded before its caller gets it', async () => {
  let reads = 0
  const task = defineLazyMembers<{ entries: string[] }, 'entries'>(
    {},
    {
      entries() {
        reads += 1
        return endedWith(['said'])
      },
    },
  )
  const { store } = openCalls({ findTask: () => task })
  await store.findTask?.()
  expect(reads).toBe(1)
  expect([task.entries, reads]).toEqual([['said'], 1])
})

test('leased work reaches its worker although reads of its members fail for a while, unlike a query of an endpoint', async () => {
  let failures = 2
  const createWork = () =>
    defineLazyMembers<{ raw: string }, 'raw'>(
      {},
      {
        raw() {
          failures -= 1
          if (failures >= 0) throw new Unavailable('away')
          return endedWith('bytes')
        },
      },
    )
  const { store } = openCalls({ leaseTurns: () => [createWork()], findTask: createWork })
  expect(await store.leaseTurns?.()).toEqual([{ raw: 'bytes' }])
  failures = 1
  await expect(store.findTask?.()).rejects.toThrow(Unavailable)
})

test('an endpoint’s call fails after ten seconds without an answer, while a worker waits', async () => {
  const never = () => new Promise(() => {})
  const { store } = openCalls({ admit: never, commit: never })
  const { result, timers } = collectTimers(() => [store.commit?.(), store.admit?.()])
  const [committed, admitted] = result
  expect(timers).toEqual([{ run: expect.any(Function), ms: 10_000 }])
  timers[0]?.run()
  await expect(admitted).rejects.toThrow(Unavailable)
  expect(await Promise.race([committed, Promise.resolve('waits')])).toBe('waits')
})

test('a closed store refuses calls, and waiting callers get an answer', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const { calls, store } = openCalls({ commit: () => promise, findOne: () => 1 })
  const waiting = store.commit?.()
  const ended = calls.closeWith(() => promise)
  await expect(store.findOne?.()).rejects.toThrow('the store is closed')
  resolve('done')
  expect(await Promise.all([waiting, ended])).toEqual(['done', 'done'])
})

test('closing waits for a call with several possible outcomes, but not forever', async () => {
  const steps: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const { calls, store } = openCalls({
    async secret() {
      await promise
      steps.push('written')
    },
  })
  const waiting = store.secret?.()
  const ended = calls.closeWith(async () => steps.push('closed'))
  resolve()
  await Promise.all([waiting, ended])
  expect(steps).toEqual(['written', 'closed'])
  const silent = openCalls({ commit: () => new Promise(() => {}) })
  void silent.store.commit?.()
  const { result: late, timers } = collectTimers(() => silent.calls.closeWith(async () => 'closed'))
  expect(timers).toEqual([{ run: expect.any(Function), ms: 5_000 }])
  timers[0]?.run()
  expect(await late).toBe('closed')
})
