import { Unavailable } from '@postern/message'
import { expect, test } from 'vitest'
import { OperationFailed } from '../../sqlite/write/transactions.ts'
import { interferenceCode } from '../sql/functions.ts'
import { isConnectionLost, isInterference, toStatementError } from './store-errors.ts'

const failWith = (code: string) =>
  new OperationFailed('an operation failed', { cause: toStatementError({ code, message: 'the server says so' }) })

test.each(['EPIPE', 'ECONNRESET', '57P01', '08006'])(
  'a connection that breaks with %s is not an error of the statement',
  code => {
    expect(toStatementError({ code, message: 'it broke' })).toBeInstanceOf(Unavailable)
  },
)

test.each([interferenceCode, '40001', '40P01', '53200'])('a transaction that fails with %s may run again', code => {
  expect(isInterference(failWith(code))).toBe(true)
  expect(isInterference(failWith(code).cause)).toBe(true)
})

test.each(['23505', '57014', '53100', 'ECONNRESET'])('a transaction that fails with %s does not run again', code => {
  expect(isInterference(failWith(code))).toBe(false)
})

test.each([
  ['LINE_AWAY', true, true],
  ['LINE_LOST', true, false],
  ['ECONNRESET', true, false],
  ['57P01', true, false],
  ['25P03', true, false],
  ['40001', false, false],
  ['23505', false, false],
])(
  'a transaction that fails with %s has lost its connection: %s, and after a requested commit: %s',
  (code, before, after) => {
    expect([isConnectionLost(failWith(code), false), isConnectionLost(failWith(code), true)]).toEqual([before, after])
  },
)
