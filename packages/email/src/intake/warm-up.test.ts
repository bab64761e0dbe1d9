import { expect, test } from 'vitest'
import { warmUp } from './warm-up.ts'

const sleep = async () => undefined

test('the warm-up loads the code for the first mail step by step, also after a failed step', async () => {
  const log: string[] = []
  const load =
    (name: string, fails = false) =>
    async () => {
      log.push(`begin ${name}`)
      await Promise.resolve()
      log.push(`end ${name}`)
      if (fails) throw new Error('not now')
    }
  await warmUp([load('a'), load('b', true), load('c')], { sleep }, new AbortController().signal)
  expect(log).toEqual(['a', 'b', 'c'].flatMap(name => [`begin ${name}`, `end ${name}`]))
})

test('the warm-up stops when the gateway begins to close', async () => {
  const closing = new AbortController()
  let loadCount = 0
  const load = async () => {
    loadCount += 1
    closing.abort()
  }
  await warmUp([load, load], { sleep }, closing.signal)
  expect(loadCount).toBe(1)
})
