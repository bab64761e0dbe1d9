import { expect, test } from 'vitest'
import { Rejection, Unavailable } from './errors.ts'

test('a Rejection has no stack, which would slow down floods of refusals, unlike other errors', () => {
  const cause = new Error('why')
  const rejection = new Rejection('malformed', 'Cannot read it: it is empty', { cause })
  expect(String(rejection.stack)).not.toContain('errors.test.ts')
  expect(rejection.cause).toBe(cause)
  expect(cause.stack).toContain('errors.test.ts')
  expect(new Unavailable('Cannot reach it').stack).toContain('errors.test.ts')
})
