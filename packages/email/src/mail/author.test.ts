import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { isUnambiguous } from './author.ts'

test.each([
  ['"B (x) <y>" (a \\) b) <b@b.test>', true],
  ['b@b.test (one) (two)', true],
  ['<a@a.test> <b@b.test>', false],
  ['"open <b@b.test>', false],
  ['"open \\" <b@b.test>', false],
  ['(open \\) <b@b.test>', false],
  ['(a (b) c) <b@b.test>', false],
  ['b@b.test \\', true],
])('isUnambiguous() returns for %j: %s', (value, expected) => {
  expect(isUnambiguous(value)).toBe(expected)
})

test.each(['"\\', '(\\', '"', '('])('isUnambiguous() takes linear time for a From that repeats %j', piece => {
  // For eight times the input, linear work grows about 8 times, and quadratic work 64 times.
  expect(measureGrowth(isUnambiguous, piece, 64_000)).toBeLessThan(24)
})
