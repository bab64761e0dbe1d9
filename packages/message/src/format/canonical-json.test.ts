import { expect, test } from 'vitest'
import { canonicalizeJson, hashCanonicalJson } from './canonical-json.ts'

test('canonicalizeJson() orders names by UTF-16 code units and escapes only what it must (RFC 8785 §3.2)', () => {
  const value = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    1: 'One',
    '\ud83d\ude00': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  }
  expect(canonicalizeJson(value)).toBe(
    '{"\\r":"Carriage Return","1":"One","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis","\u20ac":"Euro Sign",' +
      '"\ud83d\ude00":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
  )
})

test.each([
  [1e30, '1e+30'],
  [4.5, '4.5'],
  [2e-3, '0.002'],
  [1e-27, '1e-27'],
  [Number('333333333.33333329'), '333333333.3333333'],
  [-0, '0'],
  [1e21, '1e+21'],
  ['\u20ac$\u000f\nA\'B"\\\\"/', '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'],
  [[56, { d: true, 10: null, 1: [] }], '[56,{"1":[],"10":null,"d":true}]'],
])('canonicalizeJson() writes %j as in RFC 8785', (value, text) => {
  expect(canonicalizeJson(value)).toBe(text)
})

test('canonicalizeJson() omits members without a value, like JSON', () => {
  expect(canonicalizeJson({ b: undefined, a: { c: undefined } })).toBe('{"a":{}}')
})

test.each([['\ud800'], [{ '\udfff': 1 }], [Number.NaN], [Number.POSITIVE_INFINITY], [undefined]])(
  'canonicalizeJson() refuses %j, which has no canonical form',
  value => {
    expect(() => canonicalizeJson(value)).toThrow(TypeError)
  },
)

test('hashCanonicalJson() returns the same hash for values that differ only in the order of members', () => {
  expect(hashCanonicalJson({ a: 1, b: 2 })).toEqual(hashCanonicalJson({ b: 2, a: 1 }))
})
