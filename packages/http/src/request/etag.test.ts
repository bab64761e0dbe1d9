import { expect, test } from 'vitest'
import { matchesEtag } from './etag.ts'

test.each([
  ['"a"', '"a"', true],
  ['W/"a"', '"a"', true],
  ['"a"', 'W/"a"', true],
  ['"x", W/"a" , "y"', '"a"', true],
  ['"x",, "a"', '"a"', true],
  ['"x,y"', '"x,y"', true],
  ['*', '"a"', true],
  ['"A"', '"a"', false],
  ['"x, "a"', '"a"', false],
  ['a', '"a"', false],
  ['"a', '"a"', false],
  ['"b"', '"a"', false],
  ['', '"a"', false],
  [null, '"a"', false],
  [undefined, '"a"', false],
])('matchesEtag(%j, %s) returns %s', (header, etag, expected) => {
  expect(matchesEtag(header, etag)).toBe(expected)
})
