import { expect, test } from 'vitest'
import { createSecretMask } from './secret-mask.ts'

test.each([
  ['a secret', 'hunter2-and-more', 'login with hunter2-and-more failed', 'login with (set) failed'],
  ['its form in a URL', 'a b/c+d=e-long', 'GET /x?k=a%20b%2Fc%2Bd%3De-long', 'GET /x?k=(set)'],
  ['its form in JSON', 'say "hello" to me', '{"k":"say \\"hello\\" to me"}', '{"k":"(set)"}'],
  ['a URL as it stands', 'https://x.test/T1/B2/', 'POST https://x.test/T1/B2: 404', 'POST (set): 404'],
  ['a URL at the end of a sentence', 'https://x.test/T1/B2', 'no https://x.test/T1/B2.', 'no (set).'],
])('a text shows %s as "(set)"', (_, secret, text, maskedText) => {
  expect(createSecretMask([secret]).hideIn(text)).toBe(maskedText)
})

test('a mask hides the longer of two overlapping secrets completely', () => {
  expect(createSecretMask(['abcdefgh', 'abcdefgh-ijk']).hideIn('abcdefgh-ijk abcdefgh')).toBe('(set) (set)')
})

test.each(['https://github.com/acme/postern/issues', 'https://github.com/acme?page=2', 'https://github.com/acmes'])(
  'a text shows %s, which only has the start of a secret URL',
  text => {
    expect(createSecretMask(['https://github.com/acme/', 'https://github.com/acme']).hideIn(text)).toBe(text)
  },
)

test('a mask leaves values of three characters readable', () => {
  const text = 'log: --read-only at 443'
  expect(createSecretMask(['log', '443']).hideIn(text)).toBe(text)
})

test('a mask hides a value of four characters that stands alone, and none inside of a word', () => {
  expect(createSecretMask(['4711', 'grün']).hideIn('4711 of 247110, "4711": grün, immergrün')).toBe(
    '(set) of 247110, "(set)": (set), immergrün',
  )
})

test('a mask accepts more secrets and keeps the earlier ones', () => {
  const mask = createSecretMask(['first-secret'])
  mask.addSecrets(['second-secret'])
  expect(mask.hideIn('first-secret second-secret')).toBe('(set) (set)')
})

test('a value without a secret stays the same object, and one with a secret keeps its structure', () => {
  const mask = createSecretMask(['first-secret'])
  const harmlessValue = { a: ['b', { c: 1 }], at: new Date(0) }
  expect(mask.hideInAll(harmlessValue)).toBe(harmlessValue)
  expect(mask.hideInAll({ a: ['b', { c: 'the first-secret' }], n: null })).toEqual({
    a: ['b', { c: 'the (set)' }],
    n: null,
  })
})
