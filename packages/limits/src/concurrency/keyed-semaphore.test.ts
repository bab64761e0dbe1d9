import { Unavailable } from '@postern/message'
import { expect, test } from 'vitest'
import { createKeyedSemaphore } from './keyed-semaphore.ts'

const neverAborted = new AbortController().signal

/** Tasks that end when told to, and the order in which they began. */
function openSemaphore(options: Parameters<typeof createKeyedSemaphore>[0]) {
  const semaphore = createKeyedSemaphore(options)
  const startedNames: string[] = []
  const start = (name: string, { key = 'a', signal = neverAborted } = {}) => {
    const end = Promise.withResolvers<string>()
    const completion = semaphore.run(key, signal, () => {
      startedNames.push(name)
      return end.promise
    })
    return { passed: completion, end: () => end.resolve(name), fail: (error: Error) => end.reject(error) }
  }
  return { enter: start, begun: startedNames }
}

const settle = () => new Promise(setImmediate)

test('pass() runs as many tasks as the limit allows, and the others in order of arrival', async () => {
  const { enter: start, begun: startedNames } = openSemaphore({ maxRunning: 2, maxWaiting: 9 })
  const [first, second] = [start('one'), start('two'), start('three'), start('four')]
  await settle()
  expect(startedNames).toEqual(['one', 'two'])
  second?.end()
  await expect(second?.passed).resolves.toBe('two')
  expect(startedNames).toEqual(['one', 'two', 'three'])
  first?.fail(new Error('broken'))
  await expect(first?.passed).rejects.toThrow(new Error('broken'))
  expect(startedNames).toEqual(['one', 'two', 'three', 'four'])
})

test('the semaphore keeps its limit after a queue has drained', async () => {
  const { enter: start, begun: startedNames } = openSemaphore({ maxRunning: 1, maxWaiting: 9 })
  const round = [start('a'), start('b'), start('c')]
  for (const { end, passed: completion } of round) {
    end()
    await completion
  }
  const next = [start('d'), start('e')]
  await settle()
  expect(startedNames).toEqual(['a', 'b', 'c', 'd'])
  next[0]?.end()
  await next[0]?.passed
  expect(startedNames).toEqual(['a', 'b', 'c', 'd', 'e'])
})

test('keys do not wait for each other', async () => {
  const { enter: start, begun: startedNames } = openSemaphore({ maxRunning: 1, maxWaiting: 9 })
  start('one', { key: 'a' })
  start('two', { key: 'b' })
  await settle()
  expect(startedNames).toEqual(['one', 'two'])
})

test('pass() refuses a task that does not fit the queue', async () => {
  const { enter: start, begun: startedNames } = openSemaphore({ maxRunning: 1, maxWaiting: 1 })
  start('one')
  start('two')
  await expect(start('three').passed).rejects.toThrow(
    new Unavailable('Cannot fetch: too many requests wait for this host'),
  )
  expect(startedNames).toEqual(['one'])
})

test('an aborted task leaves the queue and uses no slot', async () => {
  const { enter: start, begun: startedNames } = openSemaphore({ maxRunning: 1, maxWaiting: 1 })
  const controller = new AbortController()
  const first = start('one')
  const second = start('two', { signal: controller.signal })
  controller.abort(new Unavailable('Cannot fetch: no answer in time'))
  await expect(second.passed).rejects.toThrow(new Unavailable('Cannot fetch: no answer in time'))
  const three = start('three')
  first.end()
  await first.passed
  await settle()
  expect(startedNames).toEqual(['one', 'three'])
  three.end()
  await three.passed
})

test('a task with an earlier abort does not enter the queue', async () => {
  const { enter: start } = openSemaphore({ maxRunning: 1, maxWaiting: 1 })
  start('one')
  const reason = new Unavailable('Cannot fetch: canceled')
  await expect(start('two', { signal: AbortSignal.abort(reason) }).passed).rejects.toBe(reason)
})
