import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { safeFileName } from './file-name.ts'

test.each([
  ['.. a.txt . ', 'a.txt'],
  ['../../etc/passwd', 'passwd'],
  ['a:b?.txt', 'a_b_.txt'],
  [' . ', 'attachment-1'],
])('safeFileName() makes of "%s" the name "%s"', (name, safe) => {
  expect(safeFileName(name, 0)).toBe(safe)
})

test.each(['.', ' ', '. ', '/', 'a', '\u200b'])(
  'safeFileName() takes linear time for many "%s" inside a name',
  piece => {
    expect(measureGrowth(text => safeFileName(`a${text}b`, 0), piece, 64_000)).toBeLessThan(24)
  },
)
