import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { removeEscapes } from './escapes.ts'

test.each([
  ['\\#help and \\@name, 2 \\* 3, snake\\_case', '#help and @name, 2 * 3, snake_case'],
  ['one\\\ntwo', 'one\ntwo'],
  ['C:\\dir and \\a', 'C:\\dir and \\a'],
  ['\\\\ once', '\\ once'],
  ['`\\#` and ``a ` \\# b`` and \\#', '`\\#` and ``a ` \\# b`` and #'],
  ['` \\# no code', '` # no code'],
  ['```\n\\#\n```\n\\#', '```\n\\#\n```\n#'],
  ['    \\# code', '    \\# code'],
])('withoutEscapes() turns %j into %j', (markdown, text) => {
  expect(removeEscapes(markdown)).toBe(text)
})

test.each(['\\', '\\#', '`', '` \\#', '``` \n', '\\\n'])('removeEscapes() takes linear time for many %j', piece => {
  expect(measureGrowth(text => removeEscapes(`\\${text}`), piece, 64_000)).toBeLessThan(24)
})
