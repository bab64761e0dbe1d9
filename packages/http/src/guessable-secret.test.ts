import { expect, test } from 'vitest'
import { isGuessableSecret } from './guessable-secret.ts'

test.each([
  [undefined, false],
  ['', true],
  ['x'.repeat(15), true],
  ['x'.repeat(16), false],
])('isGuessableSecret(%j) returns %s', (secret, isGuessable) => {
  expect(isGuessableSecret(secret)).toBe(isGuessable)
})
