import { expect, test } from 'vitest'
import { toTerminalOutput } from './text.ts'

const hostileText =
  'tags \u{e0050}\u{e0041} a\u200b\u001b]0;x\u0007\u007f\u009b31m\u0085\u202eb\u2028\u2066c\td\ne\r\u0000 ü 💬 👩‍🚀'
const invisibleCharacters = /[^\P{Cc}\n]|[\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u

test('toTerminalOutput() escapes cursor control and direction changes in JSON, which still parses to the same value', () => {
  const value = { [hostileText]: [hostileText, { text: hostileText }] }
  const output = toTerminalOutput(JSON.stringify(value, null, 2))
  expect(output).not.toMatch(invisibleCharacters)
  expect(JSON.parse(output)).toEqual(value)
})

test('toTerminalOutput() keeps visible text unchanged, including lines and columns', () => {
  const shownText = 'name\tü 💬 👩‍🚀\nnext'
  expect(toTerminalOutput(shownText)).toBe(shownText)
})
