import { noLog, Unavailable } from '@postern/message'
import { expect, test, vi } from 'vitest'
import { createQuietSystem } from '../../../test/memory-store.ts'
import { expectNeutralFailure, runTurnOf } from '../../../test/turn-bench.ts'
import { toReadableError } from './readable-error.ts'

const throwError = () => {
  throw new Error('boom')
}
const withGetter = (member: string) =>
  Object.defineProperty(new Error('x'), member, { get: throwError, enumerable: true })

const unreadableErrors: readonly (readonly [string, () => unknown])[] = [
  ['with a message that throws', () => withGetter('message')],
  ['with a stack that throws', () => withGetter('stack')],
  ['with a member that throws', () => withGetter('code')],
  ['with a message that is no text', () => Object.assign(new Error('x'), { message: { toString: throwError } })],
  ['with an unreadable cause', () => new Error('x', { cause: withGetter('message') })],
  ['that is a proxy', () => new Proxy(new Error('x'), { get: throwError, getPrototypeOf: throwError })],
  [
    'that is a revoked proxy',
    () => {
      const { proxy, revoke } = Proxy.revocable({}, {})
      revoke()
      return proxy
    },
  ],
  [
    'that is Unavailable and cannot be read',
    () => Object.defineProperty(new Unavailable('x'), 'message', { get: throwError }),
  ],
  ['without a prototype', () => Object.create(null)],
]

const nonErrors: readonly (readonly [string, () => unknown])[] = [
  ['that is null', () => null],
  ['that is undefined', () => undefined],
  ['that is a symbol', () => Symbol('x')],
  ['that is a number', () => 7],
  ['that is a bigint', () => 7n],
]

test.each([...unreadableErrors, ...nonErrors])('a thrown value %s ends its turn as failed', async (_what, make) => {
  const error = vi.fn((fields: object) => void String((fields as { err?: Error }).err?.message))
  const system = createQuietSystem({ log: { ...noLog, error } })
  const answer = await runTurnOf(() => Promise.reject(make()), { system })
  expectNeutralFailure(answer)
  expect(answer?.attempt?.outcome).toBe('failed')
  expect(error).toHaveBeenCalledOnce()
})

test('toReadableError() returns an error that the log can read unchanged', () => {
  for (const error of [new Unavailable('later', { retryAfter: 3 }), new AggregateError([new Error('a')]), 'text', null])
    expect(toReadableError(error)).toBe(error)
})
