import { expect, test } from 'vitest'
import { hasRoundedInteger } from './rounded-number.ts'

test.each([
  ['{"a":12345678901234567890}', true],
  ['[1,-9007199254740993]', true],
  ['{"a":1234567890123456}', false],
  ['{"a":9007199254740992,"b":1.5e300}', false],
  ['{"a":"12345678901234567890"}', false],
  [String.raw`{"a":"\"12345678901234567890","b":1}`, false],
  [String.raw`{"a":"\\","b":12345678901234567890}`, true],
  ['', false],
])('hasRoundedInteger(%j) returns %j', (text, isRounded) => {
  expect(hasRoundedInteger(text)).toBe(isRounded)
})

test('hasRoundedInteger() handles strings of any length', () => {
  for (const piece of ['a', String.raw`\n`, String.raw`\\`]) {
    const text = `["${piece.repeat(9_000_000)}",12345678901234567890]`
    expect(hasRoundedInteger(text)).toBe(true)
  }
})
