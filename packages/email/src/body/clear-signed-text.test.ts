import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { readClearSignedText } from './clear-signed-text.ts'

const opening = '-----BEGIN PGP SIGNED MESSAGE-----'
const signature = '-----BEGIN PGP SIGNATURE-----\n\niHUEARYKAB0\n=abcd\n-----END PGP SIGNATURE-----'

test.each([
  ['the armour', `${opening}\nHash: SHA512\n\nTen boxes.\n${signature}`, 'Ten boxes.'],
  ['armour without a header', `${opening}\n\nTen boxes.\n${signature}`, 'Ten boxes.'],
  ['armour without its empty line', `${opening}\nHash: SHA1\nTen boxes.\n${signature}`, 'Ten boxes.'],
  ['several headers', `${opening}\nHash: SHA1\nComment: x\n\nTen boxes.\n${signature}`, 'Ten boxes.'],
  ['escapes', `${opening}\n\n- - one\n- -----\n-- \n${signature}`, '- one\n-----\n-- '],
  [
    'two armours',
    `${opening}\n\nOne.\n${signature}\nBetween.\n${opening}\n\nTwo.\n${signature}`,
    'One.\nBetween.\nTwo.',
  ],
  ['armour between words', `Hello,\n${opening}\n\nTen.\n${signature}\nfooter`, 'Hello,\nTen.\nfooter'],
  [
    'a signature without an end',
    `${opening}\n\nTen.\n-----BEGIN PGP SIGNATURE-----\n\niHUE\n\nMy words.`,
    'Ten.\nMy words.',
  ],
])('readClearSignedText() removes %s', (_what, text, expectedText) => {
  expect(readClearSignedText(text)).toEqual({ text: expectedText, isSigned: true })
})

test.each([
  ['armour without a signature', `${opening}\nHash: SHA512\n\nTen boxes.`],
  ['armour inside a quotation', `> ${opening}\n> \n> Ten.\n> -----BEGIN PGP SIGNATURE-----`],
  ['a sentence that mentions armour', `I saw ${opening} in your mail.`],
  ['dashes of a list', '- one\n- two'],
])('readClearSignedText() keeps %s', (_what, text) => {
  expect(readClearSignedText(text)).toEqual({ text, isSigned: false })
})

test.each([`${opening}\n`, `${opening}\n\n-----BEGIN PGP SIGNATURE-----\n`, 'Hash: a\n', '\n'])(
  'readClearSignedText() takes linear time for many %j',
  piece => {
    expect(measureGrowth(text => readClearSignedText(text).text, piece, 200_000)).toBeLessThan(24)
  },
)
