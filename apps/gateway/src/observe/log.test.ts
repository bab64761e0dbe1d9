import { expect, test } from 'vitest'
import { formatLogLine } from './log.ts'

test('formatLogLine() prints time, level, message and fields', () => {
  const line = JSON.stringify({
    level: 30,
    time: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
    correlation_id: 'ab12',
    message: 7,
    msg: 'message admitted',
  })
  expect(formatLogLine(line)).toBe('03:04:05.006 info  message admitted  correlation_id=ab12  message=7\n')
})

test('formatLogLine() keeps text of peers on one line', () => {
  const line = JSON.stringify({ level: 30, time: 0, to: 'a\n\u001b[2Jb', msg: 'delivery settled' })
  expect(formatLogLine(line)).toBe('00:00:00.000 info  delivery settled  to=a\\u{a}\\u{1b}[2Jb\n')
})
