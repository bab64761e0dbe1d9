import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { toTerminalOutput } from './text.ts'

const hostile = 'a\u001b]0;x\u0007\u007f\u009b31m\u0085\u202eb\u2028\u2066c\td\ne\r\u0000 ü 💬 👩‍🚀'
const unseen = /[^\P{Cc}\n]|[\u200e\u200f\u2028-\u202e\u2066-\u2069]/u

test('toTerminalOutput() leaves no cursor control and no change of direction in JSON, which still parses to the same value', () => {
  const value = { [hostile]: [hostile, { text: hostile }] }
  const printed = toTerminalOutput(JSON.stringify(value, null, 2))
  expect(printed).not.toMatch(unseen)
  expect(JSON.parse(printed)).toEqual(value)
})

test('toTerminalOutput() keeps visible text as it is, lines and columns too', () => {
  const shown = 'name\tü 💬 👩‍🚀\nnext'
  expect(toTerminalOutput(shown)).toBe(shown)
})

test('a command says what is wrong without what could move a cursor', async () => {
  const command = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))
  const importing = promisify(execFile)(process.execPath, [
    command,
    'import',
    '\u009b31m\u202ex',
    '--format',
    'agui',
    '--thread',
    'x',
  ])
  const stderr = '\\u009b31m\\u202ex cannot be read\n'
  await expect(importing).rejects.toMatchObject({ code: 1, stderr })
})
