import { ConfigError, LeaseLost, Rejection, Unavailable, Undeliverable } from '@postern/core'
import { expect, test } from 'vitest'
import { loseLine } from '../connection/failure.ts'
import { toStatementError } from '../connection/store-errors.ts'
import { receiveError, sendError } from './worker-errors.ts'

const cross = (error: unknown) => receiveError(structuredClone(sendError(error)))

test.each([
  new Rejection('rate_limited', 'Cannot open task', { retryAfter: 60, violations: [{ field: 'a', description: 'b' }] }),
  new Unavailable('Cannot store', { retryAfter: 3, status: 503, isHearsay: true }),
  new Undeliverable('gone', { status: 410 }),
  new LeaseLost('the lease is over'),
  new ConfigError('store', 'is wrong', 'Fix it.'),
  Object.assign(new RangeError('a bug'), { code: 'E_BUG' }),
])('%s is the same on the other side', error => {
  const received = cross(error)
  expect(received).toEqual(error)
  expect({ ...received }).toEqual({ ...error })
  expect(received.stack).toBe(error.stack)
  if (error.constructor !== RangeError) expect(received).toBeInstanceOf(error.constructor)
})

test('causes come along, and what is no error becomes one', () => {
  expect(cross(new Error('a', { cause: new Rejection('forbidden', 'b') })).cause).toBeInstanceOf(Rejection)
  expect(cross('words')).toEqual(new Error('words'))
})

test.each([
  ['57P01', Unavailable],
  ['08006', Unavailable],
  ['25006', Unavailable],
  ['55P03', Unavailable],
  ['ECONNRESET', Unavailable],
  [loseLine('gone').code, Unavailable],
  ['54000', Rejection],
])('a statement that fails by %s throws %o', (code, type) => {
  expect(toStatementError({ code, message: 'in its own words' })).toBeInstanceOf(type)
})

test('a syntax error from the server becomes StatementFailed', () => {
  const error = toStatementError({ code: '42601', message: 'syntax error' })
  expect([error.name, error.message]).toEqual(['StatementFailed', 'syntax error'])
})
