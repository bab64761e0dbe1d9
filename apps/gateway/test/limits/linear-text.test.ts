import { safeFileName } from '@postern/message/file-name'
import { readVisibleText } from '@postern/message/visible-text'
import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'

// `readVisibleText()` and `safeFileName()` process text of strangers, so they must run in linear time.

test.each([
  ...[
    '\u200b',
    '\u200f',
    'ש\u200f',
    '\u2066',
    '\u2066\u2069',
    'ש\n\u200f',
    '🏴\u{e0067}',
    '👩\u200d',
    'م\u200c',
    '1\ufe0f',
  ],
])('readVisibleText() takes linear time for repeated "%s"', chunk => {
  expect(measureGrowth(text => readVisibleText(`ש${text}b`), chunk, 32_000)).toBeLessThan(24)
})

test.each(['.', ' ', '. ', '/', 'a', '\u200b', '😀'])(
  'safeFileName() takes linear time for repeated "%s" inside a name',
  chunk => {
    expect(measureGrowth(text => safeFileName(`a${text}b`, 0), chunk, 64_000)).toBeLessThan(24)
  },
)
