import { expect, test } from 'vitest'
import { toWellFormed } from './well-formed.ts'

test('toWellFormed() replaces every lone surrogate, in texts and names, at any depth', () => {
  const value = { text: 'ok \ud83d done', '\ude00': [{ inner: '\ude00' }, 7, null, true] }
  expect(toWellFormed(value)).toEqual({ text: 'ok \ufffd done', '\ufffd': [{ inner: '\ufffd' }, 7, null, true] })
})

test('toWellFormed() returns a well-formed value unchanged and without a copy', () => {
  const value = { text: 'ok \u{1f600}', list: [{ of: ['things'] }], none: undefined }
  expect(toWellFormed(value)).toBe(value)
  expect(toWellFormed('\u{1f600}')).toBe('\u{1f600}')
})

test('toWellFormed() keeps instances of classes unchanged', () => {
  const [bytes, date] = [new Uint8Array([1]), new Date(0)]
  const wellFormed = toWellFormed({ bytes, date, text: '\ud83d' })
  expect(wellFormed.bytes).toBe(bytes)
  expect(wellFormed.date).toBe(date)
})

test('toWellFormed() copies a member named `__proto__` as an own member', () => {
  const wellFormed = toWellFormed(JSON.parse('{"__proto__": {"x": "\\ud83d"}}') as Record<string, unknown>)
  expect(Object.getPrototypeOf(wellFormed)).toBe(Object.prototype)
  expect(Object.entries(wellFormed)).toEqual([['__proto__', { x: '\ufffd' }]])
})
