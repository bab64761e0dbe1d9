import { expect, test } from 'vitest'
import { warmUp } from './warm-up.ts'

const sleep = async () => undefined

test('what the first mail needs is loaded one after the other, and what fails keeps nothing back', async () => {
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

test('a gateway that is closed loads nothing more', async () => {
  const closing = new AbortController()
  let loads = 0
  const load = async () => {
    loads += 1
    closing.abort()
  }
  await warmUp([load, load], { sleep }, closing.signal)
  expect(loads).toBe(1)
})
