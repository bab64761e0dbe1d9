import { expect, test } from 'vitest'
import { lazy } from './lazy.ts'

test('lazy() makes the value at the first use, and once', () => {
  let made = 0
  const read = lazy(() => ({ number: ++made }))
  expect(made).toBe(0)
  expect(read()).toBe(read())
  expect(made).toBe(1)
})

test('lazy() keeps undefined as well, and tries again after a failure', () => {
  let calls = 0
  const read = lazy(() => {
    calls += 1
    if (calls === 1) throw new Error('not yet')
    return undefined
  })
  expect(read).toThrow('not yet')
  expect([read(), read(), calls]).toEqual([undefined, undefined, 2])
})
