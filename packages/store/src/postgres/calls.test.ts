import { Unavailable } from '@postern/core'
import { afterEach, expect, test, vi } from 'vitest'
import { createStoreCalls } from './calls.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** Notes how many readings come at a time. */
function openCalls(methods: Readonly<Record<string, (...args: never[]) => unknown>>) {
  const counts: number[] = []
  const calls = createStoreCalls({
    async readEach(readings) {
      counts.push(readings.length)
      return readings.map(reading => reading())
    },
  })
  return { calls, counts, store: calls.wrap(methods) }
}

test('readings of one moment go together, and a write goes at once by itself', async () => {
  const { store, counts } = openCalls({ findOne: (id: number) => id, listAll: () => 'all', commit: () => 'done' })
  const answers = await Promise.all([store.findOne?.(1), store.commit?.(), store.listAll?.(), store.findOne?.(2)])
  expect(answers).toEqual([1, 'done', 'all', 2])
  expect(counts).toEqual([1, 3])
})

test('a reading that fails tells only whoever asked', async () => {
  const { store } = openCalls({
    findOne: () => 1,
    findBad: () => {
      throw new Error('no such row')
    },
  })
  await expect(Promise.allSettled([store.findOne?.(), store.findBad?.()])).resolves.toMatchObject([
    { value: 1 },
    { reason: { message: 'no such row' } },
  ])
})

test('all readings of a moment fail when nothing can ask them', async () => {
  const calls = createStoreCalls({ readEach: () => Promise.reject(new Error('no place to ask')) })
  const { findOne } = calls.wrap({ findOne: () => 1 })
  await expect(findOne?.()).rejects.toThrow('no place to ask')
})

test('an answer has read its members before anybody looks at them', async () => {
  let reads = 0
  const task = {
    get entries() {
      reads += 1
      return ['said']
    },
  }
  const { store, counts } = openCalls({ findTask: () => task })
  await store.findTask?.()
  expect([reads, counts]).toEqual([1, [1, 1]])
})

test('whoever asks for an endpoint hears after ten seconds that nothing answers; whoever works waits', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const never = () => new Promise(() => {})
  const { store } = openCalls({ admit: never, commit: never })
  const [admitted, committed] = [store.admit?.(), store.commit?.()].map(promise => promise?.catch(error => error))
  await vi.advanceTimersByTimeAsync(9_999)
  expect(await Promise.race([admitted, Promise.resolve('waits')])).toBe('waits')
  await vi.advanceTimersByTimeAsync(1)
  expect(await admitted).toBeInstanceOf(Unavailable)
  await vi.advanceTimersByTimeAsync(600_000)
  expect(await Promise.race([committed, Promise.resolve('waits')])).toBe('waits')
})

test('after the end the store refuses calls, and who waits gets an answer', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const { calls, store } = openCalls({ commit: () => promise, findOne: () => 1 })
  const waiting = store.commit?.()
  const ended = calls.end(() => promise)
  await expect(store.findOne?.()).rejects.toThrow('the store is closed')
  resolve('done')
  expect(await Promise.all([waiting, ended])).toEqual(['done', 'done'])
})

test('the end waits for a call that has several ways to go, and not for ever for one that nothing answers', async () => {
  const steps: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const { calls, store } = openCalls({
    async secret() {
      await promise
      steps.push('written')
    },
  })
  const waiting = store.secret?.()
  const ended = calls.end(async () => steps.push('closed'))
  resolve()
  await Promise.all([waiting, ended])
  expect(steps).toEqual(['written', 'closed'])
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const silent = openCalls({ commit: () => new Promise(() => {}) })
  void silent.store.commit?.()
  const late = silent.calls.end(async () => 'closed')
  await vi.advanceTimersByTimeAsync(5_000)
  expect(await late).toBe('closed')
})
