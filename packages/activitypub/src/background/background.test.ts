import type { Turn } from '@postern/pipeline'
import { expect, test } from 'vitest'
import { createBackground } from './background.ts'

/** Opens the fetch of earlier posts on a network in which no host ever answers. */
function openBackground() {
  let fetchCount = 0
  let now = 0
  let isSlow = false
  const fetchBackground = createBackground({
    system: {
      sleep: (_, signal) =>
        isSlow ? Promise.resolve() : new Promise(resolve => signal?.addEventListener('abort', () => resolve())),
    },
    store: { hasEntry: async () => false, findRelation: async () => undefined },
    actors: { find: async () => undefined },
    origin: 'https://agents.test',
    now: () => now,
    findRemotePost() {
      fetchCount += 1
      return new Promise(() => {})
    },
  })
  const leaving = new AbortController()
  const walk = (host: string, user = 'a') => {
    const target = { actor: `https://${host}/users/${user}`, visibility: 'public' }
    const content = { kind: 'message', in_reply_to: `https://parent-of.${host}/1` }
    return fetchBackground({ agent: 'echo', content, target } as unknown as Turn, leaving.signal)
  }
  return {
    walk,
    leave: () => leaving.abort(),
    asked: () => fetchCount,
    pass(ms: number) {
      now += ms
    },
    /** Makes every walk use up all its time at once from now on. */
    slow() {
      isSlow = true
    },
  }
}

test('a sender who names hanging hosts makes at most eight turns wait (AP-37)', async () => {
  const { walk, leave, asked } = openBackground()
  const waiting = Array.from({ length: 8 }, () => walk('evil.test'))
  await expect(walk('evil.test')).resolves.toEqual([])
  expect(asked()).toBe(8)
  const honest = walk('good.test')
  await new Promise(setImmediate)
  expect(asked()).toBe(9)
  leave()
  await expect(Promise.all([...waiting, honest])).resolves.toEqual(Array(9).fill([]))
})

test('a sender makes at most sixteen turns wait, under any number of names (AP-37)', async () => {
  const { walk, leave, asked } = openBackground()
  const waiting = Array.from({ length: 100 }, (_, at) => walk(`h${at}.evil.test`))
  await new Promise(setImmediate)
  expect(asked()).toBe(16)
  leave()
  await Promise.all(waiting)
})

test('a sender who made one thread wait causes no other wait for a minute (AP-37)', async () => {
  const { walk, slow, pass, asked } = openBackground()
  slow()
  for (const _ of [1, 2, 3]) expect(await walk('evil.test')).toEqual([])
  expect(asked()).toBe(1)
  await walk('evil.test', 'another')
  expect(asked()).toBe(2)
  pass(60_000)
  await walk('evil.test')
  expect(asked()).toBe(3)
})

test('a host with many waiting senders causes no wait for its other senders for a minute (AP-37)', async () => {
  const { walk, slow, asked } = openBackground()
  slow()
  for (let at = 0; at < 20; at += 1) await walk('evil.test', `u${at}`)
  expect(asked()).toBe(6)
  await walk('good.test')
  expect(asked()).toBe(7)
})
