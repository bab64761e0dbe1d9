import { expect, test } from 'vitest'
import { toWellFormed } from './well-formed.ts'

test('toWellFormed() replaces every lone surrogate, in texts and names, at any depth', () => {
  const value = { text: 'ok \ud83d done', '\ude00': [{ deep: '\ude00' }, 7, null, true] }
  expect(toWellFormed(value)).toEqual({ text: 'ok \ufffd done', '\ufffd': [{ deep: '\ufffd' }, 7, null, true] })
})

test('toWellFormed() returns a well-formed value unchanged and without a copy', () => {
  const value = { text: 'ok \u{1f600}', list: [{ of: ['things'] }], none: undefined }
  expect(toWellFormed(value)).toBe(value)
  expect(toWellFormed('\u{1f600}')).toBe('\u{1f600}')
})

test('toWellFormed() keeps instances of classes unchanged', () => {
  const [bytes, at] = [new Uint8Array([1]), new Date(0)]
  const changed = toWellFormed({ bytes, at, text: '\ud83d' })
  expect(changed.bytes).toBe(bytes)
  expect(changed.at).toBe(at)
})

test('toWellFormed() does not set the prototype by a member’s name', () => {
  const changed = toWellFormed(JSON.parse('{"__proto__": {"x": "\\ud83d"}}') as Record<string, unknown>)
  expect(Object.getPrototypeOf(changed)).toBe(Object.prototype)
  expect(Object.entries(changed)).toEqual([['__proto__', { x: '\ufffd' }]])
})
