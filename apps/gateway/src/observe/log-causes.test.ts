import type { Log, LogFields } from '@postern/message'
import { Rejection, Unavailable } from '@postern/message'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { joinRepeatedLines, serializeLoggedError } from './log-causes.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function openLog() {
  const lines: (readonly [level: string, text: string, fields: LogFields])[] = []
  const collect = (level: string) => (fields: LogFields, text: string) => void lines.push([level, text, fields])
  const log: Log = joinRepeatedLines({
    debug: collect('debug'),
    info: collect('info'),
    warn: collect('warn'),
    error: collect('error'),
  })
  return { log, lines }
}

test('the log prints a repeated cause at once, then as one line with a count, and again after a minute', () => {
  const { log, lines } = openLog()
  const fail = () => {
    const err = new Unavailable('Cannot reach key host', { cause: new Error('connect ECONNREFUSED') })
    log.warn({ via: 'email', from: '192.0.2.1', err }, 'message not taken')
  }
  for (let count = 0; count < 1_000; count++) fail()
  expect(lines).toHaveLength(1)
  vi.advanceTimersByTime(60_000)
  const cause = 'Cannot reach key host: connect ECONNREFUSED'
  const fieldsWithCount = { via: 'email', from: '192.0.2.1', cause, repeated: 999 }
  expect(lines.slice(1)).toEqual([['warn', 'message not taken', fieldsWithCount]])
  fail()
  expect(lines).toHaveLength(3)
  vi.advanceTimersByTime(60_000)
  expect(lines).toHaveLength(3)
})

test('different causes, channels and messages, and lines without a cause, stay separate lines', () => {
  const { log, lines } = openLog()
  log.warn({ via: 'email', err: new Error('one') }, 'message not taken')
  log.warn({ via: 'email', err: new Error('another') }, 'message not taken')
  log.warn({ via: 'a2a', err: new Error('one') }, 'message not taken')
  log.warn({ via: 'email', err: new Error('one') }, 'delivery failed')
  for (let count = 0; count < 3; count++) log.info({ message: 7 }, 'message admitted')
  expect(lines).toHaveLength(7)
})

test('new causes without end use bounded memory, and the log loses none of their counts', () => {
  const { log, lines } = openLog()
  for (let count = 0; count < 2_000; count++) {
    log.info({ reason: `reason ${count}` }, 'message refused')
    log.info({ reason: `reason ${count}` }, 'message refused')
  }
  expect(vi.getTimerCount()).toBe(500)
  vi.advanceTimersByTime(60_000)
  expect(lines).toHaveLength(4_000)
})

test('the log has the message of an expected error, and the stack of an unexpected one', () => {
  const cause = new SyntaxError('Unexpected token')
  expect(serializeLoggedError(new Rejection('malformed', 'Cannot read activity', { cause }))).toEqual({
    type: 'Rejection',
    message: 'Cannot read activity: Unexpected token',
  })
  expect(serializeLoggedError(new TypeError('x is undefined'))).toHaveProperty('stack')
})
