import { expect, test } from 'vitest'
import { decodeBase64Lines, decodeQuotedPrintable } from './transfer-encoding.ts'

const decodeQuoted = (text: string) => decodeQuotedPrintable(Buffer.from(text, 'latin1'))?.toString('latin1')

test.each([
  ['nothing', '', ''],
  ['octets in either case', '=C3=bc=3D', '\xc3\xbc='],
  ['soft line ends, also at the end', 'a=\r\nb=\r\n', 'ab'],
  ['blanks within a line and an encoded blank at its end', 'a  b=20\r\n\tc', 'a  b \r\n\tc'],
])('decodeQuotedPrintable() decodes %s', (_what, text, decodedText) => {
  expect(decodeQuoted(text)).toBe(decodedText)
})

test.each([
  ['a blank at the end of a line', 'a \r\nb'],
  ['a tab before a bare line feed', 'a\t\nb'],
  ['a blank at the end', 'a '],
  ['an equals sign at the end', 'a='],
  ['an equals sign before other letters', '=4G'],
  ['a soft line end with a bare line feed', 'a=\nb'],
])('decodeQuotedPrintable() leaves text with %s', (_what, text) => {
  expect(decodeQuoted(text)).toBe(undefined)
})

test('decodeBase64Lines() decodes lines with padding at the end only', () => {
  const decode = (text: string) => decodeBase64Lines(Buffer.from(text, 'latin1'))?.toString('latin1')
  expect(['', 'QUJD\r\nRA==', 'QUJD\r\nR\r\nA==\r\n'].map(decode)).toEqual(['', 'ABCD', 'ABCD'])
  const others = ['QUJ', 'QQ==QQ==', 'QU JD', 'QU-_', 'QUJD\nRA==', 'QR==', 'QUJD=', '\xffUJD']
  expect(others.map(decode)).toEqual(others.map(() => undefined))
})
