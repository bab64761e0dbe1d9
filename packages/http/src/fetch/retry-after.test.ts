import { expect, test } from 'vitest'
import { parseRetryAfter } from './retry-after.ts'

const now = Date.UTC(2026, 0, 1, 12, 0, 0)

test.each<[header: string | null, seconds: number | undefined]>([
  ['0', 0],
  ['120', 120],
  [' 120 ', 120],
  ['Thu, 01 Jan 2026 12:01:30 GMT', 90],
  ['Thu, 01 Jan 2026 11:00:00 GMT', 0],
  [null, undefined],
  ['', undefined],
  ['soon', undefined],
  ['-5', undefined],
  ['1.5', undefined],
  ['99999999999', undefined],
  ['999999999', 604_800],
  ['Thu, 08 Jan 2026 11:59:59 GMT', 604_799],
  ['Thu, 08 Jan 2026 12:00:01 GMT', 604_800],
  ['Fri, 31 Dec 9999 23:59:59 GMT', 604_800],
  ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
])('parseRetryAfter() reads %j as %j', (header, seconds) => {
  expect(parseRetryAfter(header, now)).toBe(seconds)
})
