import { expect, test } from 'vitest'
import { KeyNotMade, Rejection, Unavailable, Undeliverable } from './errors.ts'

test.each([
  [30, 30],
  [0.5, 0.5],
  [0, 0],
  [1e14, 604_800],
  [Number.POSITIVE_INFINITY, undefined],
  [Number.NaN, undefined],
  [-1, undefined],
  ['30', undefined],
])('errors with the wait %j ask for a wait of %j seconds', (asked, retryAfter) => {
  const options = { retryAfter: asked as number }
  expect(new Unavailable('Cannot reach it', options).retryAfter).toBe(retryAfter)
  expect(new Rejection('rate_limited', 'Cannot take it', options).retryAfter).toBe(retryAfter)
})

test('a Rejection has no stack, which would slow down floods of refusals, unlike other errors', () => {
  const cause = new Error('why')
  const rejection = new Rejection('malformed', 'Cannot read it: it is empty', { cause })
  expect(String(rejection.stack)).not.toContain('errors.test.ts')
  expect(rejection.cause).toBe(cause)
  expect(cause.stack).toContain('errors.test.ts')
  expect(new Unavailable('Cannot reach it').stack).toContain('errors.test.ts')
})

test('instanceof recognizes an error of another copy of the module by its name and its code', () => {
  const copy = (name: string, code: string) => Object.assign(new Error('no'), { name, code })
  expect(copy('Unavailable', 'unavailable')).toBeInstanceOf(Unavailable)
  expect(copy('Undeliverable', 'undeliverable')).toBeInstanceOf(Undeliverable)
  expect(copy('Rejection', 'forbidden')).toBeInstanceOf(Rejection)
  expect(copy('Rejection', 'ENOENT')).not.toBeInstanceOf(Rejection)
  expect(copy('Unavailable', 'unavailable')).not.toBeInstanceOf(Undeliverable)
  expect(new KeyNotMade()).toBeInstanceOf(Unavailable)
  expect(new Unavailable('no')).not.toBeInstanceOf(KeyNotMade)
  expect(undefined).not.toBeInstanceOf(Rejection)
})
