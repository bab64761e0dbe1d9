import { expect, test } from 'vitest'
import { splitText } from './render.ts'

test.each([
  ['short', 10, ['short']],
  ['one\n\ntwo three', 10, ['one\n\ntwo', 'three']],
  ['first lines\n\nsecond', 14, ['first lines', 'second']],
  ['a b c d e f', 5, ['a b', 'c d', 'e f']],
  ['abcdefghij', 4, ['abcd', 'efgh', 'ij']],
  ['abc😀d', 4, ['abc', '😀d']],
  ['   ', 4, []],
])('splitText() cuts %j at %i characters between words, if it can', (text, maxChars, pieces) => {
  expect(splitText(text, maxChars)).toEqual(pieces)
})
