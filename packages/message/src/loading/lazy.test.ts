import { expect, test } from 'vitest'
import { lazy } from './lazy.ts'

test('lazy() creates the value once, at its first use', () => {
  let callCount = 0
  const read = lazy(() => ({ number: ++callCount }))
  expect(callCount).toBe(0)
  expect(read()).toBe(read())
  expect(callCount).toBe(1)
})

test('lazy() caches undefined too, and retries after a failure', () => {
  let calls = 0
  const read = lazy(() => {
    calls += 1
    if (calls === 1) throw new Error('not yet')
    return undefined
  })
  expect(read).toThrow('not yet')
  expect([read(), read(), calls]).toEqual([undefined, undefined, 2])
})
