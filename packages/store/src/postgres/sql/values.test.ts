import fc from 'fast-check'
import { expect, test } from 'vitest'
import { escapeText, getReader, restoreText, writeValue } from './values.ts'

test('any text returns unchanged, and PostgreSQL never gets a NUL', () => {
  const texts = fc.array(fc.constantFrom('\0', '\u001a', '0', '1', 'a')).map(letters => letters.join(''))
  fc.assert(
    fc.property(texts, text => {
      expect(escapeText(text)).not.toContain('\0')
      expect(restoreText(escapeText(text))).toBe(text)
    }),
  )
})

test('escapeText() keeps different texts different', () => {
  expect(escapeText('\0')).not.toBe(escapeText('\u001a0'))
})

test.each([
  [null, null],
  [12, '12'],
  [Number.POSITIVE_INFINITY, '9007199254740991'],
  [-1.5, '-2'],
  ['a\0', 'a\u001a0'],
])('writeValue(%j) returns %j', (value, written) => {
  expect(writeValue(value)).toBe(written)
})

test('writeValue() returns bytes unchanged, and refuses unsupported values', () => {
  expect(writeValue(new Uint8Array([0, 255]).subarray(1))).toEqual(Buffer.from([255]))
  const message = 'a statement cannot be given undefined'
  expect(() => writeValue(undefined as never)).toThrow(expect.objectContaining({ message, code: '22000' }))
})

test.each([
  [16, 't', 1],
  [16, 'f', 0],
  [17, '\\x00ff', new Uint8Array([0, 255])],
  [20, '9007199254740991', 9007199254740991],
  [1700, '12', 12],
  [25, '\u001a0', '\0'],
])('a value of type %i parses to %j', (type, text, value) => {
  expect(getReader(type)(text)).toEqual(value)
})
