import type { Turn } from '@postern/core'
import { expect, test } from 'vitest'
import { createBackground } from './background.ts'

/** Nobody who is asked ever answers. */
function openBackground() {
  let asked = 0
  const fetchBackground = createBackground({
    world: { sleep: (_, signal) => new Promise(resolve => signal?.addEventListener('abort', () => resolve())) },
    desk: { knows: async () => false, findRelation: async () => undefined },
    actors: { find: async () => undefined },
    origin: 'https://agents.test',
    now: () => 0,
    posts: {
      find() {
        asked += 1
        return new Promise(() => {})
      },
    },
  })
  const leaving = new AbortController()
  const walk = (host: string) => {
    const target = { actor: `https://${host}/users/a`, visibility: 'public' }
    const content = { kind: 'message', in_reply_to: `https://parent-of.${host}/1` }
    return fetchBackground({ agent: 'echo', content, target } as unknown as Turn, leaving.signal)
  }
  return { walk, leave: () => leaving.abort(), asked: () => asked }
}

test('37: whoever names hosts that hang has eight turns wait for them, not all', async () => {
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

test('37: under as many names as he likes he has sixteen turns wait, and then no more', async () => {
  const { walk, leave, asked } = openBackground()
  const waiting = Array.from({ length: 100 }, (_, at) => walk(`h${at}.evil.test`))
  await new Promise(setImmediate)
  expect(asked()).toBe(16)
  leave()
  await Promise.all(waiting)
})
