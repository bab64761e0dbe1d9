import { Unavailable } from '@postern/message'
import { expect, test } from 'vitest'
import { createKeyedSemaphore } from './keyed-semaphore.ts'

const never = new AbortController().signal

/** Tasks that end when told to, and the order in which they began. */
function openSemaphore(options: Parameters<typeof createKeyedSemaphore>[0]) {
  const semaphore = createKeyedSemaphore(options)
  const begun: string[] = []
  const enter = (name: string, { key = 'a', signal = never } = {}) => {
    const end = Promise.withResolvers<string>()
    const passed = semaphore.pass(key, signal, () => {
      begun.push(name)
      return end.promise
    })
    return { passed, end: () => end.resolve(name), fail: (error: Error) => end.reject(error) }
  }
  return { enter, begun }
}

const settle = () => new Promise(setImmediate)

test('pass() runs as many tasks as the semaphore is wide, and the rest in the order of arrival', async () => {
  const { enter, begun } = openSemaphore({ width: 2, queue: 9 })
  const [one, two] = [enter('one'), enter('two'), enter('three'), enter('four')]
  await settle()
  expect(begun).toEqual(['one', 'two'])
  two?.end()
  await expect(two?.passed).resolves.toBe('two')
  expect(begun).toEqual(['one', 'two', 'three'])
  one?.fail(new Error('broken'))
  await expect(one?.passed).rejects.toThrow(new Error('broken'))
  expect(begun).toEqual(['one', 'two', 'three', 'four'])
})

test('the semaphore keeps its width after a queue has passed', async () => {
  const { enter, begun } = openSemaphore({ width: 1, queue: 9 })
  const round = [enter('a'), enter('b'), enter('c')]
  for (const { end, passed } of round) {
    end()
    await passed
  }
  const next = [enter('d'), enter('e')]
  await settle()
  expect(begun).toEqual(['a', 'b', 'c', 'd'])
  next[0]?.end()
  await next[0]?.passed
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e'])
})

test('keys do not wait for each other', async () => {
  const { enter, begun } = openSemaphore({ width: 1, queue: 9 })
  enter('one', { key: 'a' })
  enter('two', { key: 'b' })
  await settle()
  expect(begun).toEqual(['one', 'two'])
})

test('pass() refuses a task that does not fit the queue', async () => {
  const { enter, begun } = openSemaphore({ width: 1, queue: 1 })
  enter('one')
  enter('two')
  await expect(enter('three').passed).rejects.toThrow(
    new Unavailable('Cannot fetch: too many requests wait for this host'),
  )
  expect(begun).toEqual(['one'])
})

test('a task that gives up leaves the queue and uses no slot', async () => {
  const { enter, begun } = openSemaphore({ width: 1, queue: 1 })
  const giveUp = new AbortController()
  const one = enter('one')
  const two = enter('two', { signal: giveUp.signal })
  giveUp.abort(new Unavailable('Cannot fetch: no answer in time'))
  await expect(two.passed).rejects.toThrow(new Unavailable('Cannot fetch: no answer in time'))
  const three = enter('three')
  one.end()
  await one.passed
  await settle()
  expect(begun).toEqual(['one', 'three'])
  three.end()
  await three.passed
})

test('a task that gave up before does not enter the queue', async () => {
  const { enter } = openSemaphore({ width: 1, queue: 1 })
  enter('one')
  const reason = new Unavailable('Cannot fetch: canceled')
  await expect(enter('two', { signal: AbortSignal.abort(reason) }).passed).rejects.toBe(reason)
})
